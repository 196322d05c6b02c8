import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { silentLog } from "../ops/log.ts";
import { cutLogs, recordOrigin } from "./log-origin.ts";
import { openDb, type Sql } from "./pool.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  const ids = ["00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"];
  await database.sql`insert into event_counters (workspace_id, last) select * from unnest(${ids}::uuid[], ${[88, 0]}::bigint[])`;
  await recordOrigin(database.sql);
});
after(async () => await database?.drop());

async function cuts(): Promise<string[][]> {
  const rows = await database.sql<{ cuts: string[] }[]>`select cuts from event_counters order by workspace_id`;
  return rows.map((row) => row.cuts);
}

async function origin(): Promise<string> {
  const [row] = await database.sql<{ value: string }[]>`select value from settings where name = 'log_origin'`;
  return row!.value;
}

/** Runs work on a pool of new connections. */
async function withPool<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = openDb({ url, pool: 8, log: silentLog() });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

test("connections to the recorded server change nothing", async () => {
  await withPool(database.url, async (sql) => void (await sql`select 1`));
  assert.deepEqual(await cuts(), [[], []]);
  assert.match(await origin(), /^\d{15,}\/0000000\d$/);
});

test("on another server the first connection cuts every log once, before any statement of the others", async () => {
  const real = await origin();
  await database.sql`update settings set value = '7000000000000000000/00000001' where name = 'log_origin'`;
  await withPool(database.url, async (sql) => {
    const seen = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const rows = await sql<
          { cuts: string[] }[]
        >`select cuts, pg_sleep(0.05) from event_counters order by workspace_id`;
        return rows.map((row) => row.cuts);
      }),
    );
    const [first, second] = await cuts();
    assert.match(first!.join(), /^88[a-z]{6}$/);
    assert.equal(second!.join(), first!.join().replace(/^88/, "0"), "one cut has the same letters in all logs");
    for (const one of seen) assert.deepEqual(one, [first, second]);
  });
  assert.equal(await origin(), real);
});

test("cutLogs cuts every log again", async () => {
  assert.equal(await cutLogs(database.sql), 2);
  const [first] = await cuts();
  assert.equal(first!.length, 2);
  assert.notEqual(first![0], first![1]);
});

test("a database without tables, or without a recorded server, is not checked", async () => {
  const empty = await createTestDatabase({ migrated: false });
  try {
    assert.equal((await withPool(empty.url, async (sql) => await sql`select 1`)).length, 1);
  } finally {
    await empty.drop();
  }
  await database.sql`delete from settings where name = 'log_origin'`;
  const before = await cuts();
  await withPool(database.url, async (sql) => void (await sql`select 1`));
  assert.deepEqual(await cuts(), before);
  await recordOrigin(database.sql);
});
