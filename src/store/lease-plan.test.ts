/** Plans are kept while the queue grows: one that was made for a young queue must be right for a long one. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { countRowsRead } from "../../test/harness/rows-read.ts";
import { silentLog } from "../ops/log.ts";
import { openDb } from "./db.ts";
import { storeBatch } from "./email-batches.ts";
import { makeUuid } from "./ids.ts";
import { type Leased, leaseDue, makeLease } from "./lease.ts";
import { settle } from "./settle.ts";
import { registerWorker } from "./workers.ts";

const backlog = 4000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const delivered = ({ workspaceId, emailId, position, lease }: Leased) => ({
  ...{ workspaceId, emailId, position, lease, status: "delivered" as const },
  ...{ dueInMs: undefined, attempts: 1, inDoubt: false, reply: "250 ok", remoteMx: "mx.test", suppress: undefined },
  event: { id: makeUuid(Date.now()), type: "email.delivered", payload: {} },
});

test("a plan that was made for an empty queue, or for a full one that was counted, reads no more later", async () => {
  for (const counted of [false, true]) {
    const workspaceId = await makeWorkspace(database.sql);
    const lanes = ["d0.test", "d1.test"].map((destination) => ({ destination, workspaceId, quota: 5 }));
    const workerId = await registerWorker(database.sql, { host: "h", pid: 2, roles: ["delivery"], version: "t" });
    if (counted) await database.sql`analyze recipients, emails, suppressions, paused_destinations`;
    // One connection, and the plan of its first lease for ever: what a cache of plans comes to in the end.
    const [name] = await database.sql<{ name: string }[]>`select current_database() as name`;
    await database.sql.unsafe(`alter database ${name!.name} set plan_cache_mode = force_generic_plan`);
    const session = openDb({ url: database.url, pool: 1, log: silentLog() });
    try {
      assert.deepEqual([...(await session`show plan_cache_mode`)], [{ plan_cache_mode: "force_generic_plan" }]);
      assert.deepEqual(await leaseDue(session, makeLease(workerId, 1), lanes), []);
      await fill(workspaceId, 40);
      await settle(session, (await leaseDue(session, makeLease(workerId, 2), lanes)).map(delivered));
      await fill(workspaceId, backlog);
      const leased = await countRowsRead(session, "^(recipients|emails)_p", async (tx) => {
        const rows = await leaseDue(tx, makeLease(workerId, 3), lanes);
        assert.ok((await settle(tx, rows.map(delivered))).every((held) => held));
        // Whoever searches by address or domain has indexes for it; they have no business here.
        const scans = await tx`select indexrelid::regclass::text as index from pg_index
          where pg_stat_get_xact_numscans(indexrelid) > 0 and indexrelid::regclass::text ~ '^(recipients|emails)_p'
            and indexrelid::regclass::text !~ '(_pkey|_due_at_idx)$'`;
        assert.deepEqual([...scans], []);
        return rows;
      });
      assert.equal(leased.result.length, 12, "five of each lane, and the second recipient of the last email");
      assert.ok(
        leased.rows < 500,
        `a lease of 12 and its settlement read ${leased.rows} rows${counted ? ", counted" : ""}`,
      );
    } finally {
      await session.end();
    }
  }
});

/** Emails to two recipients at one of four domains. */
async function fill(workspaceId: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 500)
    await storeBatch(database.sql, {
      workspaceId,
      emails: Array.from({ length: Math.min(500, count) }, (_, n) =>
        newEmail(workspaceId, [`a${i + n}@d${n % 4}.test`, `b@d${n % 4}.test`]),
      ),
      answer: [],
      idempotency: undefined,
    });
}
