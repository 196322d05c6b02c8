import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { holdTimeMs, runWithBriefLocks, withBriefLocks } from "./brief-locks.ts";
import { openDb, type Sql } from "./pool.ts";

test("a change may hold its locks for 100 ms, and for longer only after many slow tries", () => {
  assert.deepEqual([0, 9, 10, 20, 1000].map(holdTimeMs), [100, 100, 200, 400, 3200]);
});

test("a change that takes too long is rolled back and repeated, and any other error is thrown", async () => {
  const database = await createTestDatabase();
  const { sql } = database;
  await sql.unsafe("create table tries (n int); create sequence attempts");
  const waits: unknown[] = [];
  const options = { tables: ["tries"], onWait: (blocker: unknown) => waits.push(blocker) };
  await withBriefLocks(
    sql,
    async (tx) => {
      await tx.unsafe("insert into tries values (1)");
      const [row] = await tx<{ n: number }[]>`select nextval('attempts')::int as n`;
      if (row!.n < 3) await tx.unsafe("select pg_sleep(60)");
    },
    options,
  );
  assert.deepEqual([...(await sql`select n from tries`)], [{ n: 1 }]);
  assert.equal(waits[0], undefined, "no other session blocks it");
  assert.equal(waits.length > 0, true);
  await assert.rejects(
    withBriefLocks(sql, (tx) => tx.unsafe("select 1 / 0"), options),
    /division by zero/,
  );
  await database.drop();
});

test("a client that stalls after its change loses the lock, and the change is repeated", async () => {
  const database = await createTestDatabase();
  const { sql } = database;
  await sql.unsafe("create table things (id int)");
  let goOn = () => {};
  const stalled = new Promise<void>((resolve) => (goOn = resolve));
  let tries = 0;
  const changing = withBriefLocks(
    sql,
    async (tx) => {
      const first = ++tries === 1;
      await tx.unsafe("alter table things add column note text");
      if (first) await stalled;
    },
    { tables: ["things"], onWait() {} },
  );
  await until("the change to hold its lock", () => tries === 1);
  const other = openDb({ url: database.url, pool: 1, log: silentLog() });
  // The client is still stalled, so only the server can have ended its transaction.
  await until("the table without the change", async () => {
    const [locks] =
      await other`select count(*)::int as n from pg_locks where relation = 'things'::regclass and granted`;
    return locks!.n === 0;
  });
  await other`select id from things`;
  await assert.rejects(async () => await other.unsafe("select note from things"), { code: "42703" }, "rolled back");
  goOn();
  await changing;
  assert.ok(tries > 1);
  await other`select note from things`;
  await other.end();
  await database.drop();
});

test("a client that stalls and then writes to the closed session repeats the change", async () => {
  const database = await createTestDatabase();
  await database.sql.unsafe("create table things (id int)");
  let tries = 0;
  const change = async (tx: Sql) => {
    await tx.unsafe("alter table things add column note text");
    // Blocks the whole process, so that the server's error stays unread.
    if (++tries === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
    await tx`select 1`;
  };
  await withBriefLocks(database.sql, change, { tables: ["things"], onWait() {} });
  assert.ok(tries > 1);
  await database.sql`select note from things`;
  await database.drop();
});

test("without tables in use, a broken connection is not retried", async () => {
  const database = await createTestDatabase();
  const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  let tries = 0;
  const change = async () => {
    tries++;
    throw broken;
  };
  await assert.rejects(withBriefLocks(database.sql, change, { tables: [], onWait() {} }), broken);
  assert.equal(tries, 1);
  await database.drop();
});

test("tries that wait for a lock do not raise the time limit, and a stop ends them", async () => {
  const database = await createTestDatabase();
  const { sql } = database;
  await sql.unsafe("create table things (id int)");
  const limits: string[] = [];
  const stop = new AbortController();
  const waiting = withBriefLocks(
    sql,
    async (tx) => {
      const [row] = await tx<{ limit: string }[]>`select current_setting('statement_timeout') as limit`;
      limits.push(row!.limit);
      throw Object.assign(new Error("lock not available"), { code: "55P03" });
    },
    { tables: ["things"], onWait() {}, stop: stop.signal },
  );
  const ended = assert.rejects(waiting, { message: "enough" });
  await until("more tries than double the limit", () => limits.length > 10);
  stop.abort(new Error("enough"));
  await ended;
  assert.deepEqual([...new Set(limits)], ["100ms"]);
  await database.drop();
});

test("runWithBriefLocks commits in the same message and leaves the session's settings unchanged", async () => {
  const database = await createTestDatabase();
  await database.sql.session(async (own) => {
    const options = { tables: ["things"], onWait() {} };
    await runWithBriefLocks(own, "create table things (id int)", options);
    await assert.rejects(runWithBriefLocks(own, "create table things (id int)", options), { code: "42P07" });
    await runWithBriefLocks(own, "alter table things add column note text -- a comment at the end", options);
    const [row] =
      await own`select current_setting('statement_timeout') as limit, now() = statement_timestamp() as alone`;
    assert.deepEqual(row, { limit: "0", alone: true });
  });
  assert.deepEqual([...(await database.sql`select id, note from things`)], []);
  await database.drop();
});
