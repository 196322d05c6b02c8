import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import type { Sql } from "./db.ts";
import { makeUuid } from "./ids.ts";
import { queueDepth } from "./queue.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());

const workspace = "00000000-0000-7000-8000-000000000001";

async function add(destination: string, dueSecondsAgo: number, more: { status?: string; lease?: number } = {}) {
  await sql`insert into recipients (workspace_id, email_id, position, kind, address, destination, status, due_at, lease)
    values (${workspace}, ${makeUuid(Date.now())}, 0, 'to', ${`a@${destination}`}, ${destination}, ${more.status ?? "queued"},
      now() - make_interval(secs => ${dueSecondsAgo}), ${more.lease ?? null})`;
}

test("an empty queue has no age", async () => {
  assert.deepEqual(await queueDepth(sql), { due: 0, later: 0, leased: 0, oldestDueSeconds: 0 });
});

test("the age is that of the oldest recipient that could go out now", async () => {
  await add("later.test", -3600);
  await add("leased.test", 5000, { lease: 1 });
  await add("done.test", 9000, { status: "delivered" });
  assert.deepEqual(await queueDepth(sql), { due: 0, later: 1, leased: 1, oldestDueSeconds: 0 });
  await add("due.test", 100);
  await add("due.test", 200, { status: "delayed" });
  const { oldestDueSeconds, ...counts } = await queueDepth(sql);
  assert.deepEqual(counts, { due: 2, later: 1, leased: 1 });
  assert.ok(oldestDueSeconds >= 200 && oldestDueSeconds < 800, String(oldestDueSeconds));
});

test("what is held back on purpose is counted and has no age", async () => {
  await add("paused.test", 3000);
  await sql`insert into paused_destinations (workspace_id, destination) values (${workspace}, 'paused.test')`;
  await add("broken.test", 4000);
  await sql`insert into destinations (domain, site, resolved_at, expires_at) values ('broken.test', 'mx.test', now(), now() + interval '1 hour')`;
  await sql`insert into sites (site, back_off_until) values ('mx.test', now() + interval '1 hour')`;
  const held = await queueDepth(sql);
  assert.equal(held.due, 4);
  assert.ok(held.oldestDueSeconds < 3000, String(held.oldestDueSeconds));
  await sql`update sites set back_off_until = now() - interval '1 second'`;
  assert.ok((await queueDepth(sql)).oldestDueSeconds >= 4000);
});
