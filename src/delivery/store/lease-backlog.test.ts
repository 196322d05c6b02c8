/** A backlog must not slow down the queue: counts the rows that each statement reads, which must not grow with the backlog. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail, settlement } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { storeBatch } from "../../emails/store/batches.ts";
import { readContents } from "../../emails/store/content.ts";
import { progressOf } from "../../emails/store/reads.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { tablesOf, weekAt } from "../../postgres/weeks.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { purgeSome } from "../../queue/store.ts";
import { findLanes, leaseDue } from "./lease.ts";
import { settle } from "./settle.ts";

const backlog = 4000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** The rows of the queue's tables that the work read, by index or by scan. */
const rowsRead = <T>(work: (sql: Sql) => Promise<T>) =>
  countRowsRead(database.sql, "^(recipients|emails|email_contents)_p", work);

for (const week of [undefined, weekAt(Date.now())])
  test(`with a backlog of thousands, a lease and its settlement read few more rows than they change${week ? ", in a week" : ""}`, async () => {
    const { sql } = database;
    await sql`truncate emails, recipients`;
    const workspaceId = await makeWorkspace(sql);
    const workerId = await registerWorker(sql, { host: "h", pid: 1, roles: ["delivery"], version: "t" });
    // The statistics are those of an empty table, as after the first start or in a new weekly partition. They must not mislead the planner.
    for (let i = 0; i < backlog; i += 500)
      await storeBatch(sql, {
        workspaceId,
        emails: Array.from({ length: 500 }, (_, n) => newEmail(workspaceId, [`u${i + n}@d${n % 4}.test`])),
        answer: [],
        idempotency: undefined,
      });
    const names = ["d0.test", "d1.test", "d2.test", "d3.test"];
    for (let round = 1; round <= 12; round++) {
      const found = await rowsRead((tx) => findLanes(tx, 100, undefined, [week]));
      assert.deepEqual(
        found.result.map(({ destination }) => destination),
        names,
      );
      assert.ok(found.rows < 500, `finding ${names.length} lanes read ${found.rows} rows`);
      const lanes = names.slice(0, 2).map((destination) => ({ destination, workspaceId, quota: 5 }));
      const leased = await rowsRead((tx) => leaseDue(tx, makeLease(workerId, round), lanes, [], tablesOf(tx, week)));
      assert.equal(leased.result.length, 10);
      assert.ok(leased.rows < 500, `a lease of 10 read ${leased.rows} rows`);
      const { result } = leased;
      const progress = await rowsRead((tx) =>
        progressOf(
          tx,
          result.map(({ emailId }) => ({ workspaceId, id: emailId })),
        ),
      );
      assert.equal(progress.result.length, 10);
      assert.ok(progress.rows < 500, `reading the progress of 10 emails read ${progress.rows} rows`);
      const contents = await rowsRead((tx) =>
        readContents(
          tx,
          result.map(({ emailId, email }) => ({ workspaceId, emailId, day: email.contentDay })),
        ),
      );
      assert.equal(contents.result.size, 10);
      assert.ok(contents.rows < 500, `reading 10 contents read ${contents.rows} rows`);
      const items = leased.result.map((row) => settlement(row, "delivered"));
      const settled = await rowsRead((tx) => settle(tx, items, tablesOf(tx, week)));
      assert.ok(settled.result.every(Boolean));
      assert.ok(settled.rows < 500, `a settlement of 10 read ${settled.rows} rows`);
      const eventIds = Array.from({ length: 10 }, () => makeUuid(Date.now()));
      const upTo = makeUuid(Date.now() + 1000);
      const purged = await rowsRead((tx) =>
        purgeSome(tx, { workspaceId, destination: "d3.test", upTo, reason: "purged", eventIds }),
      );
      assert.equal(purged.result, 10);
      assert.ok(purged.rows < 500, `a purge of 10 read ${purged.rows} rows`);
    }
  });
