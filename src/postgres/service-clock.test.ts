import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { beatAfter, serviceLeadSeconds, shiftWallTime } from "../../test/harness/time.ts";
import { ensurePartitions } from "./partitions.ts";
import { beat, readClocks } from "./service-clock.ts";
import { aliveRoles, registerWorker } from "./workers.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => await database.drop());

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

async function worker(): Promise<number> {
  return await registerWorker(database.sql, { host: "a", pid: 1, roles: ["delivery"], version: "0" });
}

/** Ten seconds of beats, each of which observed 5 s. */
async function beatTwice(id: number): Promise<void> {
  await beatAfter(database.sql, [id], 5000);
  await beatAfter(database.sql, [id], 5000);
}

test("service time follows wall time between beats, by at most 15 seconds", async () => {
  const { sql } = database;
  assert.ok(Math.abs(await serviceLeadSeconds(sql)) < 2);
  await sql`update service_clock set service_at = now() - interval '1 hour', wall_at = now() - interval '1 hour'`;
  const lead = await serviceLeadSeconds(sql);
  assert.ok(lead < -3580 && lead > -3590, `${lead}`);
});

test("a jump of the database's clock, ahead or back, moves service time by no more than the time that a program observed", async () => {
  const { sql } = database;
  const id = await worker();
  for (const jump of ["3 days", "-3 days", "30 days", "-30 days", "400 days", "0 days"]) {
    await shiftWallTime(sql, jump);
    const before = await serviceLeadSeconds(sql);
    assert.ok(Math.abs(before) < 60, `${jump}: ${before} s before the beat`);
    await beatTwice(id);
    const after = await serviceLeadSeconds(sql);
    assert.ok(Math.abs(after) < 60, `${jump}: ${after} s after the beats`);
    assert.deepEqual([...(await aliveRoles(sql))], ["delivery"], `${jump}: the worker is alive`);
  }
});

test("a program that was stopped adds at most 15 seconds with its first beat, and then the time that it observes", async () => {
  const { sql } = database;
  const id = await worker();
  await sql`update service_clock set service_at = now() - interval '1 hour', wall_at = now() - interval '1 hour'`;
  await beat(sql, [id], undefined);
  assert.ok((await serviceLeadSeconds(sql)) < -3580);
  // A beat that succeeds after ten minutes without the database counts all of them.
  await sql`update service_clock set service_at = now() - interval '10 minutes', wall_at = now() - interval '10 minutes'`;
  await beatAfter(sql, [id], 600_000);
  assert.ok(Math.abs(await serviceLeadSeconds(sql)) < 2);
});

test("a worker without beats is dead after 30 seconds of service time, whatever the database's clock shows", async () => {
  const { sql } = database;
  const silent = await worker();
  const other = await registerWorker(sql, { host: "b", pid: 1, roles: ["api"], version: "0" });
  await shiftWallTime(sql, "400 days");
  await beatAfter(sql, [other], 5000);
  assert.deepEqual([...(await aliveRoles(sql))].sort(), ["api", "delivery"]);
  await shiftWallTime(sql, "401 days");
  await beatAfter(sql, [other], 31_000);
  assert.deepEqual([...(await aliveRoles(sql))], ["api"]);
  assert.deepEqual((await beatAfter(sql, [silent], 5000)).alive, [silent], "its row still exists");
  // A program of an earlier version writes only seen_at.
  await sql`update workers set beat_at = null, seen_at = wall_time() where id = ${silent}`;
  assert.deepEqual([...(await aliveRoles(sql))].sort(), ["api", "delivery"]);
});

test("ids and events keep a time that has partitions until those of the new time exist", async () => {
  const { sql } = database;
  const id = await worker();
  const realMs = Date.now();
  const event = async () => {
    await sql`insert into events (workspace_id, number, id, type, payload, created_at)
      select gen_random_uuid(), 1, gen_random_uuid(), 'domain.updated', '{}', (select stamp_time())`;
  };
  for (const days of [-30, 30, 400, 0]) {
    await shiftWallTime(sql, `${days} days`);
    const first = await beatAfter(sql, [id], 5000);
    assert.ok(Math.abs(first.wallMs - realMs - days * dayMs) < hourMs);
    assert.ok(Math.abs(first.stampMs - first.partitionsMs) <= dayMs);
    await event();
    await ensurePartitions(sql);
    const second = await beatAfter(sql, [id], 5000);
    assert.equal(second.stampMs, second.wallMs);
    assert.ok(Math.abs((await readClocks(sql)).wallMs - second.wallMs) < hourMs);
    await event();
  }
});

test("a program that missed beats does not count again what another program has counted", async () => {
  const { sql } = database;
  const { serviceMs } = await beat(sql, []);
  // The other program counted ten hours, then the clock jumps.
  await sql`update service_clock set service_at = service_at + interval '10 hours', wall_at = wall_time()`;
  const before = await beatAfter(sql, [], 0);
  await shiftWallTime(sql, "3 days");
  const after = await beat(sql, [], { ms: 10 * 3_600_000, sinceServiceMs: serviceMs });
  await shiftWallTime(sql, "0 days");
  assert.ok(after.serviceMs - before.serviceMs < 60_000, `added ${after.serviceMs - before.serviceMs} ms`);
});

test("the first beat of all starts at wall time, however long an earlier release has served after the migration", async () => {
  const { sql } = database;
  await sql`update service_clock set started = false, service_at = now() - interval '8 hours', wall_at = now() - interval '8 hours'`;
  const { serviceMs, wallMs } = await beat(sql, []);
  assert.equal(serviceMs, wallMs);
});
