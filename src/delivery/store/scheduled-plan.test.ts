/** Statements that write by ctid read few rows, whatever the size of the queue for which their plan was made. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { storeBatch } from "../../emails/store/batches.ts";
import type { NewEmail } from "../../emails/store/emails.ts";
import { silentLog } from "../../ops/log.ts";
import { openDb } from "../../postgres/pool.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { leaseExpired } from "./lease.ts";
import { positionBefore, rescheduleSome } from "./scheduled.ts";

const backlog = 8000;
const hourMs = 3_600_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function fill(workspaceId: string, count: number, extra: Partial<NewEmail> = {}, to = "a@there.test") {
  for (let i = 0; i < count; i += 500) {
    const emails = Array.from({ length: Math.min(500, count) }, () => newEmail(workspaceId, [to], extra));
    await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
  }
}

for (const isAnalyzed of [false, true])
  test(`expired and rescheduled rows are written without a scan of the queue${isAnalyzed ? ", with statistics" : ""}`, async () => {
    const { sql, url } = database;
    const workspaceId = await makeWorkspace(sql);
    const workerId = await registerWorker(sql, { host: "h", pid: 2, roles: ["delivery"], version: "t" });
    const [{ name }] = await sql<[{ name: string }]>`select current_database() as name`;
    await sql.unsafe(`alter database ${name} set plan_cache_mode = force_generic_plan`);
    if (isAnalyzed) await sql`analyze recipients, emails`;
    const session = openDb({ url, pool: 1, log: silentLog() });
    const scheduled = { scheduledAt: new Date(Date.now() + 5 * hourMs) };
    const scan = { destination: "paused.test", workspaceId, after: undefined, limit: 500 };
    const expire = (tx = session) => leaseExpired(tx, makeLease(workerId, 1), scan);
    const pass = (tx = session) => rescheduleSome(tx, positionBefore(Date.now()), 1000);
    try {
      await fill(workspaceId, 1, { expiresAt: new Date(Date.now() - 1000) }, "a@paused.test");
      assert.equal((await expire()).rows.length, 1);
      await pass();
      await fill(workspaceId, backlog);
      await fill(workspaceId, 3, { expiresAt: new Date(Date.now() - 1000) }, "a@paused.test");
      await fill(workspaceId, 3, scheduled, "a@later.test");
      await sql`update service_clock set service_at = service_at - interval '3 hours'`;
      const expired = await countRowsRead(session, "^(recipients|emails)_p", expire);
      assert.equal(expired.result.rows.length, 3);
      assert.ok(expired.rows < 200, `three expired rows: ${expired.rows} rows read`);
      const passed = await countRowsRead(session, "^(recipients|emails)_p", pass);
      // A pass runs after a jump of the clock only. Its plan for an empty queue reads the emails once.
      const most = isAnalyzed ? 200 : backlog + 200;
      assert.ok(passed.rows < most, `three scheduled rows: ${passed.rows} rows read`);
      const [late] = await sql<[{ late: number }]>`
        select count(*)::int as late from recipients r join emails e on e.id = r.email_id
        where e.scheduled_at is not null and r.due_at > service_time() + interval '5.1 hours'`;
      assert.equal(late.late, 0);
    } finally {
      await session.end();
      await sql.unsafe(`alter database ${name} reset plan_cache_mode`);
    }
  });
