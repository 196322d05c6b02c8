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
  assert.deepEqual(await queueDepth(sql), {
    due: 0,
    later: 0,
    leased: 0,
    oldestDueSeconds: 0,
    oldestBackingOffSeconds: 0,
  });
});

test("the age is that of the oldest recipient that could go out now", async () => {
  await add("later.test", -3600);
  await add("leased.test", 5000, { lease: 1 });
  await add("done.test", 9000, { status: "delivered" });
  const none = { oldestDueSeconds: 0, oldestBackingOffSeconds: 0 };
  assert.deepEqual(await queueDepth(sql), { due: 0, later: 1, leased: 1, ...none });
  await add("due.test", 100);
  await add("due.test", 200, { status: "delayed" });
  const { oldestDueSeconds, ...others } = await queueDepth(sql);
  assert.deepEqual(others, { due: 2, later: 1, leased: 1, oldestBackingOffSeconds: 0 });
  assert.ok(oldestDueSeconds >= 200 && oldestDueSeconds < 800, String(oldestDueSeconds));
});

test("a paused destination has no age, a site that is backing off has an age of its own", async () => {
  await add("paused.test", 3000);
  await sql`insert into paused_destinations (workspace_id, destination) values (${workspace}, 'paused.test')`;
  await add("broken.test", 4000);
  await sql`insert into destinations (domain, site, resolved_at, expires_at) values ('broken.test', 'mx.test', now(), now() + interval '1 hour')`;
  await sql`insert into sites (site, failures, back_off_until) values ('mx.test', 1, now() + interval '1 hour')`;
  const held = await queueDepth(sql);
  assert.equal(held.due, 4);
  assert.ok(held.oldestDueSeconds < 3000, String(held.oldestDueSeconds));
  assert.ok(held.oldestBackingOffSeconds >= 4000, String(held.oldestBackingOffSeconds));
  // While the site is tried again its mail could go out, and the site has not answered yet.
  await sql`update sites set back_off_until = now() - interval '1 second'`;
  const tried = await queueDepth(sql);
  assert.ok(tried.oldestDueSeconds >= 4000 && tried.oldestBackingOffSeconds >= 4000);
  await sql`update sites set failures = 0, back_off_until = null`;
  const well = await queueDepth(sql);
  assert.ok(well.oldestDueSeconds >= 4000);
  assert.equal(well.oldestBackingOffSeconds, 0);
});
