import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { nodesByRole, registerWorker } from "./workers.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

test("nodes are counted per role: processes, not rows, and only with a recent heartbeat", async () => {
  const { sql } = database;
  const add = (host: string, pid: number, roles: string[]) =>
    registerWorker(sql, { host, pid, roles, version: "0.1.0" });
  await add("a", 1, ["api", "webhooks"]);
  await add("a", 1, ["webhooks"]);
  await add("b", 1, ["webhooks"]);
  const silent = await add("c", 1, ["api", "dns"]);
  await sql`update workers set beat_at = beat_at - interval '1 minute' where id = ${silent}`;
  assert.deepEqual(Object.fromEntries(await nodesByRole(sql)), { api: 1, webhooks: 2 });
});
