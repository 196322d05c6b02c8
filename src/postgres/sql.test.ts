import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { startDatabaseProxy } from "../../test/harness/database-proxy.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { bigintArray, byteaArray, intArray, textArray, timeArray, uuidArray } from "./arrays.ts";
import { inCallScope } from "./call-scope.ts";
import { isDatabaseAway, openDb, type Sql } from "./pool.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = openDb({ url: database.url, pool: 4, log: silentLog(), name: "victim" });
});
after(async () => {
  await sql.end();
  await database.drop();
});

test("values are sent as parameters, templates nest, and arrays are returned unchanged", async () => {
  const evil = "'; drop table emails; --";
  const onlyIf = (yes: boolean) => (yes ? sql`and ${2}::int = 2` : sql``);
  const [row] =
    await sql`select ${evil}::text as text, ${["a,b", 'c"d', "e\\f", "{}"]}::text[] as list, ${[1, 2]}::int[] as numbers,
    ${null}::text as nothing, ${new Date(0)}::timestamptz as time where ${1}::int = 1 ${onlyIf(true)} ${onlyIf(false)}`;
  assert.deepEqual(row, {
    text: evil,
    list: ["a,b", 'c"d', "e\\f", "{}"],
    numbers: [1, 2],
    nothing: null,
    time: new Date(0),
  });
});

test("a value that an array cannot hold fails like one that the server refuses", () => {
  assert.throws(() => timeArray([new Date(Number.NaN)]), { code: "22003" });
  assert.throws(() => intArray([2 ** 31]), { code: "22003" });
  assert.throws(() => bigintArray([2 ** 63]), { code: "22003" });
  assert.throws(() => uuidArray(["01890000"]), { code: "22P03" });
});

test("arrays of every kind arrive as they were sent, with nulls and without values", async () => {
  const ids = ["01890000-0000-7000-8000-0000000000ff", null];
  const bigints = [0, -1, 2 ** 32, -(2 ** 32) - 5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  const times = [new Date(0), null, new Date("2026-11-19T13:00:00.123Z"), new Date("1970-01-01T00:00:00.001Z")];
  const [row] = await sql`select ${uuidArray(ids)}::uuid[] as ids, ${intArray([1, -2])}::integer[] as ints,
    ${bigintArray(bigints)}::bigint[]::text[] as bigints, ${timeArray(times)}::timestamptz[] as times,
    ${textArray(["a", null, "ä€😀"])}::text[] as texts, ${uuidArray([])}::uuid[] as none`;
  assert.deepEqual(row, {
    ids,
    ints: [1, -2],
    bigints: bigints.map(String),
    times,
    texts: ["a", null, "ä€😀"],
    none: [],
  });
});

test("a statement runs once however often it is awaited, and never when it is not awaited", async () => {
  await sql.unsafe("create table once (n int)");
  const insert = sql`insert into once values (${1}) returning n`;
  sql`insert into once values (${9})`;
  assert.deepEqual(await insert, [{ n: 1 }]);
  assert.deepEqual(await insert, [{ n: 1 }]);
  assert.deepEqual(await sql`select n from once`, [{ n: 1 }]);
});

test("a transaction commits all of its statements or none", async () => {
  await sql.unsafe("create table pair (n int)");
  await assert.rejects(
    sql.begin(async (tx) => {
      await tx`insert into pair values (${1})`;
      throw new Error("changed my mind");
    }),
    /changed my mind/,
  );
  await sql.begin(async (tx) => {
    await tx`insert into pair values (${2})`;
    await tx`insert into pair values (${3})`;
  });
  assert.deepEqual(await sql`select n from pair order by n`, [{ n: 2 }, { n: 3 }]);
});

test("a transaction inside another one joins it, and undoes only its own statements when it fails", async () => {
  await sql`create table joined (n int primary key)`;
  await sql.begin(async (tx) => {
    await tx`insert into joined values (1)`;
    await tx.begin(async (inner) => void (await inner`insert into joined values (2)`));
    const failed = tx.begin(async (inner) => {
      await inner`insert into joined values (3)`;
      await inner.begin(async (innermost) => void (await innermost`insert into joined values (4)`));
      await inner`insert into joined values (1)`;
    });
    await assert.rejects(failed, /duplicate key/);
    await tx`insert into joined values (5)`;
  });
  assert.deepEqual(
    (await sql<{ n: number }[]>`select n from joined order by n`).map(({ n }) => n),
    [1, 2, 5],
  );
  const outer = sql.begin(async (tx) => {
    await tx.begin(async (inner) => void (await inner`insert into joined values (6)`));
    throw new Error("outer");
  });
  await assert.rejects(outer, /outer/);
  assert.equal((await sql`select 1 from joined where n = 6`).length, 0);
});

test("connections that are terminated under load fail their statements, and the pool recovers", async () => {
  await sql.unsafe("create table ledger (n int primary key)");
  const acknowledged: number[] = [];
  let running = true;
  let n = 0;
  const writers = Array.from({ length: 8 }, async () => {
    while (running) {
      const mine = ++n;
      try {
        if (mine % 2) await sql`insert into ledger values (${mine})`;
        else await sql.begin(async (tx) => await tx`insert into ledger values (${mine})`);
        acknowledged.push(mine);
      } catch (error) {
        assert.ok(isDatabaseAway(error), `not recognized as unavailable: ${(error as Error).message}`);
      }
    }
  });
  try {
    for (let round = 0; round < 20; round++) {
      const before = acknowledged.length;
      await until("writes to go on", () => acknowledged.length > before + 20);
      await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`;
    }
  } finally {
    running = false;
  }
  await Promise.all(writers);
  // Not by the pool of the test: the last termination may still reach one of its connections.
  const kept = new Set((await database.sql<{ n: number }[]>`select n from ledger`).map((row) => row.n));
  assert.deepEqual(
    acknowledged.filter((one) => !kept.has(one)),
    [],
  );
});

test("a statement with `select *` still works after another program has added a column", async () => {
  await sql.unsafe("create table grows (n int); insert into grows values (1)");
  const one = openDb({ url: database.url, pool: 1, log: silentLog() });
  const read = async (by: Sql) => await by`select * from grows where n = ${1}`;
  assert.deepEqual(await read(one), [{ n: 1 }]);
  await sql.unsafe("alter table grows add column note text");
  assert.deepEqual(await read(one), [{ n: 1, note: null }]);
  await sql.unsafe("alter table grows add column more text");
  // A statement inside a transaction cannot be repeated alone: the caller repeats the transaction.
  await assert.rejects(one.begin(read), { code: "0A000" });
  assert.deepEqual(await one.begin(read), [{ n: 1, note: null, more: null }]);
  await one.end();
});

test("the settings and locks of a session end with it", async () => {
  const one = openDb({ url: database.url, pool: 1, log: silentLog() });
  const inside = await one.session(async (own) => {
    await own`select pg_advisory_lock(${77})`;
    const [settings] = await own`
      select current_setting('statement_timeout') as limit, current_setting('idle_session_timeout') as idle, pg_backend_pid() as pid`;
    const [within] = await own.begin(async (tx) => await tx`select pg_backend_pid() as pid`);
    assert.equal(within!.pid, settings!.pid, "one connection");
    return settings!;
  });
  assert.equal(inside.limit, "0");
  assert.equal(inside.idle, "1min", "the server ends the session of a client that lost power");
  const [after] = await one`select current_setting('statement_timeout') as limit, pg_backend_pid() as pid`;
  assert.notEqual(after!.limit, "0");
  assert.notEqual(after!.pid, inside.pid);
  await until("the lock to be free", async () => {
    const [row] = await one`select pg_try_advisory_lock(${77}) as taken`;
    return row!.taken;
  });
  await one.end();
});

test("after a lost connection a listener reconnects and is called once for missed notifications", async () => {
  let calls = 0;
  const { unlisten } = await sql.listen("posthorn_test", () => calls++);
  await sql.notify([{ channel: "posthorn_test", payload: "" }]);
  await until("the first notification", () => calls >= 2);
  await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen posthorn_test'`;
  const before = calls;
  await until("a call after the reconnect", () => calls > before);
  const afterReconnect = calls;
  await sql.notify([{ channel: "posthorn_test", payload: "" }]);
  await until("the next notification", () => calls > afterReconnect);
  await unlisten();
});

test("a ping needs no connection of the pool, and after a failed ping the listening connection is replaced", async (t) => {
  const proxy = await startDatabaseProxy(database.url);
  const pinged = openDb({ url: proxy.url, pool: 1, log: silentLog() });
  t.after(async () => {
    // The test may have called `end` already; a second call rejects.
    await pinged.end().catch(() => {});
    await proxy.close();
  });
  await pinged.begin(async () => await pinged.ping(60_000));
  let calls = 0;
  const { unlisten } = await pinged.listen("posthorn_ping", () => calls++);
  proxy.freeze();
  await assert.rejects(pinged.ping(50), /timeout/);
  const before = calls;
  proxy.thaw();
  await until("a ping", async () => {
    await pinged.ping(60_000);
    return true;
  });
  await until("a call after the reconnect", () => calls > before);
  await unlisten();
  await pinged.end();
  await assert.rejects(pinged.ping(60_000), /closed/);
});

const roundTrip = async (texts: string[]) => {
  const [row] = await sql<{ texts: string[] }[]>`select ${textArray(texts)}::text[] as texts`;
  return row!.texts;
};

test("textArray sends texts unchanged", async () => {
  for (const texts of [[], [""], ["", "NULL", "null", "{}", '"', "\\", ',"\\{}', "ä😀\u{10ffff}", "x".repeat(70_000)]])
    assert.deepEqual(await roundTrip(texts), texts);
  const text = fc.string({ unit: "binary" }).map((any) => any.replaceAll("\0", "").toWellFormed());
  await fc.assert(
    fc.asyncProperty(fc.array(text), async (texts) => assert.deepEqual(await roundTrip(texts), texts)),
    { numRuns: 50 },
  );
});

test("byteaArray sends octets and nulls unchanged, and octets reads them", async () => {
  await sql.unsafe("create table stored_octets (n int, value bytea)");
  const one = (length: number) => Buffer.from(Array.from({ length }, (_, i) => (i * 7) % 256));
  for (const values of [[], [null], [one(0), null, one(1), one(300_000)]]) {
    await sql`truncate stored_octets`;
    await sql`insert into stored_octets select n, value from unnest(${byteaArray(values)}::bytea[]) with ordinality as v(value, n)`;
    const rows = await sql<{ value: Buffer | null }[]>`select value from stored_octets order by n`;
    assert.deepEqual(
      rows.map(({ value }) => value),
      values,
    );
    const copy = "copy (select value from stored_octets where value is not null order by n) to stdout (format binary)";
    const expected = values.filter((value) => value !== null);
    assert.deepEqual(await sql.octets(copy), expected);
    assert.deepEqual(await sql.begin((tx) => tx.octets(copy)), expected);
  }
});

test("octets rejects with the error of the server, and its connection serves the next statement", async () => {
  await assert.rejects(sql.octets("copy (select 1 / 0) to stdout (format binary)"), { code: "22012" });
  await assert.rejects(sql.octets("copy no_such_table to stdout (format binary)"), { code: "42P01" });
  await assert.rejects(sql.octets("copy (select 'a'::bytea, 'b'::bytea) to stdout (format binary)"), /one value/);
  assert.deepEqual([...(await sql`select 1 as n`)], [{ n: 1 }]);
});

test("textArray with NUL is rejected like any text with NUL", async () => {
  await assert.rejects(roundTrip(["a\0b"]), { code: "22021" });
});

test("a write that may no longer be sent when it gets its connection is not sent", async () => {
  const single = openDb({ url: database.url, pool: 1, log: silentLog() });
  await single.unsafe("create table checked (n int)");
  let open = true;
  const scope = {
    committed: 0,
    timeLeftMs: () => undefined,
    check() {
      if (!open) throw new Error("too late");
    },
    sent() {},
  };
  const busy = Promise.withResolvers<void>();
  const holder = single.begin(async () => await busy.promise);
  const late = [
    inCallScope(scope, async () => await single`insert into checked values (${1})`),
    inCallScope(scope, () => single.begin(async (tx) => await tx`insert into checked values (${2})`)),
  ];
  for (const one of late) one.catch(() => {});
  open = false;
  busy.resolve();
  await holder;
  for (const one of late) await assert.rejects(one, /too late/);
  open = true;
  // The connection was given back.
  await inCallScope(scope, async () => await single`insert into checked values (${3})`);
  assert.deepEqual(await single`select n from checked`, [{ n: 3 }]);
  await single.end();
});
