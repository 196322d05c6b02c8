/** A connection to a standby is refused as read-only: a session that is open when the standby is promoted could write without a check. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silentLog } from "../../src/ops/log.ts";
import { recordOrigin } from "../../src/postgres/log-origin.ts";
import { openDb } from "../../src/postgres/pool.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type FailoverServer, startFailoverServer } from "../harness/failover.ts";

let postgres: FailoverServer;
let database: TestDatabase;
before(async () => {
  postgres = await startFailoverServer();
  database = await createTestDatabase({ server: postgres.server });
});
after(async () => {
  await database?.sql.end();
  await postgres?.stop();
});

test("statements on a standby fail with the code of a read-only database", async () => {
  await recordOrigin(database.sql);
  await postgres.replicate();
  await postgres.startStandby();
  const sql = openDb({ url: database.url, pool: 2, log: silentLog() });
  try {
    for (let i = 0; i < 3; i++) await assert.rejects(sql`select 1`.then(), { code: "25006" });
    assert.equal(sql.health.problem()?.reason, "DATABASE_READ_ONLY");
  } finally {
    await sql.end();
  }
});
