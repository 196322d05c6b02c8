import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { listDestinations, queueDepth } from "./store.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());

const workspace = "00000000-0000-7000-8000-000000000001";

async function add(
  destination: string,
  dueSecondsAgo: number,
  more: { status?: string; lease?: number; inDoubt?: boolean } = {},
) {
  await sql`insert into recipients (workspace_id, email_id, position, kind, address, destination, status, due_at, lease, in_doubt)
    values (${workspace}, ${makeUuid(Date.now())}, 0, 'to', ${`a@${destination}`}, ${destination}, ${more.status ?? "queued"},
      now() - make_interval(secs => ${dueSecondsAgo}), ${more.lease ?? null}, ${more.inDoubt ?? false})`;
}

async function list(search: string) {
  const [row] = await listDestinations(sql, { workspaceId: workspace, search, after: undefined, limit: 10 });
  return row!;
}

test("an empty queue has age 0", async () => {
  assert.deepEqual(await queueDepth(sql), {
    due: 0,
    later: 0,
    leased: 0,
    oldestDueSeconds: 0,
    oldestBackingOffSeconds: 0,
  });
});

test("the age is that of the oldest recipient that is due and not leased", async () => {
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

test("a paused destination does not count, and a site in back-off has a separate age", async () => {
  await add("paused.test", 3000);
  await sql`insert into paused_destinations (workspace_id, destination) values (${workspace}, 'paused.test')`;
  await add("broken.test", 4000);
  await sql`insert into destinations (domain, site, resolved_at, expires_at) values ('broken.test', 'mx.test', now(), now() + interval '1 hour')`;
  await sql`insert into sites (site, failures, back_off_until) values ('mx.test', 1, now() + interval '1 hour')`;
  const backingOff = await queueDepth(sql);
  assert.equal(backingOff.due, 4);
  assert.ok(backingOff.oldestDueSeconds < 3000, String(backingOff.oldestDueSeconds));
  assert.ok(backingOff.oldestBackingOffSeconds >= 4000, String(backingOff.oldestBackingOffSeconds));
  // After the back-off the site is probed: its mail is due, and the site has not answered yet, so both ages count.
  await sql`update sites set back_off_until = service_time() - interval '1 second'`;
  const probed = await queueDepth(sql);
  assert.ok(probed.oldestDueSeconds >= 4000 && probed.oldestBackingOffSeconds >= 4000);
  await sql`update sites set failures = 0, back_off_until = null`;
  const recovered = await queueDepth(sql);
  assert.ok(recovered.oldestDueSeconds >= 4000);
  assert.equal(recovered.oldestBackingOffSeconds, 0);
});

test("a destination counts scheduled and delayed recipients apart from those that wait for their first attempt", async () => {
  await add("mixed.test", 10);
  await add("mixed.test", -3600);
  await add("mixed.test", -3600);
  await add("mixed.test", -60, { status: "delayed" });
  await add("mixed.test", 60, { status: "delivered" });
  const { queued, inFlight, scheduled, delayed } = await list("mixed");
  assert.deepEqual({ queued, inFlight, scheduled, delayed }, { queued: 4, inFlight: 0, scheduled: 2, delayed: 1 });
});

test("a recipient whose attempt is in doubt waits for a retry and is not scheduled mail", async () => {
  await add("doubt.test", -300, { inDoubt: true });
  const { queued, scheduled, delayed, state, oldestId } = await list("doubt");
  assert.deepEqual(
    { queued, scheduled, delayed, state },
    { queued: 1, scheduled: 0, delayed: 1, state: "backing_off" },
  );
  assert.ok(oldestId);
});

test("scheduled mail changes neither the state of a destination nor the age of its oldest mail", async () => {
  await add("planned.test", -3600);
  const planned = await list("planned");
  assert.deepEqual([planned.state, planned.oldestId], ["active", null]);
  await add("planned.test", -60, { status: "delayed" });
  const delayed = await list("planned");
  assert.equal(delayed.state, "backing_off");
  assert.ok(delayed.oldestId);
  await add("planned.test", 60);
  assert.equal((await list("planned")).state, "active");
});
