import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { type CallScope, inCallScope } from "./call-scope.ts";
import { createConnectionShare } from "./connection-share.ts";
import { createLoader } from "./loader.ts";
import { openDb, type Sql } from "./pool.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = openDb({ url: database.url, pool: 6, log: silentLog() });
});
after(async () => {
  await sql.end();
  await database.drop();
});

const callOf = (owner: string, committed = 0): CallScope => ({
  owner,
  committed,
  timeLeftMs: () => undefined,
  check() {},
  sent() {},
});
const as = <T>(owner: string, work: () => T): T => inCallScope(callOf(owner), work);

/** A lock that statements wait for until it is released. */
async function holdLock(): Promise<() => Promise<void>> {
  const holder = openDb({ url: database.url, pool: 1, log: silentLog() });
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const held = holder.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(7)`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  return async () => {
    release.resolve();
    await held;
    await holder.end();
  };
}

const slow = async () => void (await sql`select pg_advisory_xact_lock_shared(${7}::int)`);

test("a workspace with slow calls leaves connections to others, and its own further calls wait", async () => {
  const release = await holdLock();
  let done = 0;
  const flood = Array.from({ length: 8 }, () => as("flood", () => slow().then(() => done++)));
  await until("slow statements", () => sql.pool.totalCount - sql.pool.idleCount >= 2);
  assert.equal(sql.pool.totalCount - sql.pool.idleCount, 2, "two of the four that calls may use");
  assert.deepEqual(await as("calm", async () => await sql`select ${1}::int as n`), [{ n: 1 }]);
  assert.deepEqual(await sql`select ${2}::int as n`, [{ n: 2 }], "loops have no owner");
  assert.equal(done, 0);
  await release();
  await Promise.all(flood);
});

test("a batch of reads for several calls waits for no call's share", async () => {
  const release = await holdLock();
  const load = createLoader(async (keys: number[]) => {
    await sql`select ${1}::int`;
    return keys;
  });
  const flood = Array.from({ length: 8 }, () => as("flood", slow));
  assert.equal(await as("flood", () => load(5)), 5);
  await release();
  await Promise.all(flood);
});

test("a call that waits too long is refused with the time to come back, unless it has stored something", async () => {
  const share = createConnectionShare(6, 20);
  const places = [await as("a", share.take), await as("a", share.take)];
  await assert.rejects(as("a", share.take), { code: "resource_exhausted", retryAfterMs: 1_000 });
  const writing = await inCallScope(callOf("a", 1), share.take);
  const waiting = as("a", share.take);
  for (const giveBack of [writing, ...places]) giveBack();
  (await waiting)();
});

test("the place is given back after an error, a transaction and a lost connection", async () => {
  for (let i = 0; i < 20; i++) {
    await assert.rejects(as("a", async () => await sql`select ${1}::int / 0`));
    await as("a", () => sql.begin(async (tx) => await tx`select ${1}::int`));
    await assert.rejects(as("a", async () => await sql`select pg_terminate_backend(pg_backend_pid())`));
  }
  assert.deepEqual(await as("a", async () => await sql`select ${3}::int as n`), [{ n: 3 }]);
});
