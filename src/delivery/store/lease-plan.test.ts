/** Connections keep query plans while the queue grows: a plan made for an empty queue must also suit a long one. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail, settlement } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { storeBatch } from "../../emails/store/batches.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import { silentLog } from "../../ops/log.ts";
import { openDb } from "../../postgres/pool.ts";
import { tablesOf, weekAt } from "../../postgres/weeks.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { leaseDue } from "./lease.ts";
import { settle } from "./settle.ts";

const backlog = 4000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const cases = [false, true].flatMap((analyzed) => [undefined, weekAt(Date.now())].map((week) => ({ analyzed, week })));

test("a plan made for an empty queue reads few rows of a long one, with and without statistics, of a week and of all", async () => {
  for (const { analyzed, week } of cases) {
    const workspaceId = await makeWorkspace(database.sql);
    const lanes = ["d0.test", "d1.test"].map((destination) => ({ destination, workspaceId, quota: 5 }));
    const workerId = await registerWorker(database.sql, { host: "h", pid: 2, roles: ["delivery"], version: "t" });
    if (analyzed) await database.sql`analyze recipients, emails, suppressions, unsubscribes, paused_destinations`;
    // One connection with a generic plan, which a connection's plan cache uses in the long run.
    const [name] = await database.sql<{ name: string }[]>`select current_database() as name`;
    await database.sql.unsafe(`alter database ${name!.name} set plan_cache_mode = force_generic_plan`);
    const session = openDb({ url: database.url, pool: 1, log: silentLog() });
    const tables = tablesOf(session, week);
    try {
      assert.deepEqual([...(await session`show plan_cache_mode`)], [{ plan_cache_mode: "force_generic_plan" }]);
      assert.deepEqual(await leaseDue(session, makeLease(workerId, 1), lanes, [], tables), []);
      await fill(workspaceId, 40);
      await settle(
        session,
        (await leaseDue(session, makeLease(workerId, 2), lanes, [], tables)).map((row) => settlement(row, "delivered")),
        tables,
      );
      await fill(workspaceId, backlog);
      // Each recipient of the backlog has left another topic than that of its emails.
      await database.sql`insert into unsubscribes (workspace_id, address, topic, method, created_at)
        select ${workspaceId}, lower(address), 't' || n, 'api', service_time() from (select distinct address from recipients) r, generate_series(1, 3) n`;
      const leased = await countRowsRead(session, "^((recipients|emails)_p|unsubscribes$)", async (tx) => {
        const rows = await leaseDue(tx, makeLease(workerId, 3), lanes, [], tables);
        assert.ok(
          (
            await settle(
              tx,
              rows.map((row) => settlement(row, "delivered")),
              tables,
            )
          ).every(Boolean),
        );
        // The indexes for searches by address or domain must not be used.
        const scans = await tx`select indexrelid::regclass::text as index from pg_index
          where pg_stat_get_xact_numscans(indexrelid) > 0 and indexrelid::regclass::text ~ '^(recipients|emails)_p'
            and indexrelid::regclass::text !~ '(_pkey|_due_at_idx)$'`;
        assert.deepEqual([...scans], []);
        return rows;
      });
      assert.equal(leased.result.length, 10, "five of each lane, also if its last email has another recipient there");
      assert.ok(
        leased.rows < 500,
        `a lease of 10 and its settlement read ${leased.rows} rows${analyzed ? ", analyzed" : ""}`,
      );
    } finally {
      await session.end();
    }
  }
});

function withTopic(email: NewEmail): NewEmail {
  return { ...email, envelope: { ...email.envelope, unsubscribe: { topic: "news" } } };
}

/** Emails to two recipients at one of four domains. */
async function fill(workspaceId: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 500)
    await storeBatch(database.sql, {
      workspaceId,
      emails: Array.from({ length: Math.min(500, count) }, (_, n) =>
        withTopic(newEmail(workspaceId, [`a${i + n}@d${n % 4}.test`, `b@d${n % 4}.test`])),
      ),
      answer: [],
      idempotency: undefined,
    });
}
