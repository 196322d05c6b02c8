import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { laterMigrations } from "../../test/harness/migrations.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { partitionIndexName } from "./index-build.ts";
import { type MigrationProgress, migrate } from "./migrate.ts";
import { openDb } from "./pool.ts";
import { schemaState } from "./schema-state.ts";

const log = silentLog();
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const index = "create index concurrently things_by_kind on things (lower(kind), id) where kind <> ';';";

/** Creates a partitioned table with thousands of rows, and a migration that adds an index to it. */
async function newTable(text = index) {
  const database = await createTestDatabase();
  ends.push(database.drop);
  await database.sql.unsafe(`create table things (id int not null, kind text not null) partition by range (id);
    create table things_p1 partition of things for values from (0) to (4000);
    create table things_p2 partition of things for values from (4000) to (8000);
    create table things_p3 partition of things for values from (8000) to (12000);
    insert into things select n, 'kind ' || n % 7 from generate_series(0, 9999) n;
    create table plain (id int, kind text); insert into plain select n, 'k' from generate_series(1, 1000) n`);
  const { folder, names, remove } = await laterMigrations(text);
  ends.push(remove);
  const sql = openDb({ url: database.url, pool: 2, log, name: "builder" });
  ends.push(() => sql.end());
  return { database, folder, name: names[0]!, sql };
}

/** The index and the indexes of the partitions, each with whether it is valid and attached. */
async function indexesOf({ sql }: TestDatabase, parent = "things_by_kind") {
  return await sql<{ table: string; valid: boolean; attached: boolean }[]>`
    select x.indrelid::regclass::text as table, x.indisvalid as valid, h.inhparent is not null as attached
    from pg_index x left join pg_inherits h on h.inhrelid = x.indexrelid and h.inhparent = to_regclass(${parent})
    where pg_get_indexdef(x.indexrelid) like '%lower(kind)%' order by 1`;
}

/** Opens a snapshot in another session, which a concurrent build waits for. Returns the function that closes it. */
async function openSnapshot(database: TestDatabase): Promise<() => Promise<void>> {
  const other = openDb({ url: database.url, pool: 1, log, name: "reader" });
  let end = () => {};
  const released = new Promise<void>((resolve) => (end = resolve));
  let open = false;
  const reading = other.begin(async (tx) => {
    await tx.unsafe("set transaction isolation level repeatable read");
    await tx`select count(*) from settings`;
    open = true;
    await released;
  });
  await until("the snapshot", () => open);
  let ended: Promise<void> | undefined;
  const close = () =>
    (ended ??= (async () => {
      end();
      await reading;
      await other.end();
    })());
  ends.push(close);
  return close;
}

async function untilBuilding(database: TestDatabase): Promise<void> {
  await until("a build that waits for the snapshot", async () => {
    const rows = await database.sql`select 1 from pg_stat_progress_create_index
      where datname = current_database() and phase like 'waiting for%'`;
    return rows.length > 0;
  });
}

const complete = (tables: string[]) => tables.map((table) => ({ table, valid: true, attached: table !== "things" }));

test("the index is built on each partition and attached, and the parent's index is valid", async () => {
  const { database, folder, name, sql } = await newTable();
  const reported: MigrationProgress[] = [];
  const { applied } = await migrate(sql, log, { folder, onProgress: (progress) => reported.push(progress) });
  assert.deepEqual(applied, [name]);
  assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p1", "things_p2", "things_p3"]));
  const steps = reported.flatMap((one) => (one.kind === "index" ? [`${one.table} ${one.step}/${one.of}`] : []));
  assert.deepEqual(steps, ["things_p3 1/3", "things_p1 2/3", "things_p2 3/3"], "small partitions first");
  assert.deepEqual((await migrate(sql, log, { folder })).applied, []);
});

test("an index on a table without partitions is built, also with a pool of one connection", async () => {
  const { database, folder, name } = await newTable(
    "create unique index concurrently plain_by_id on plain using btree (id)",
  );
  const sql = openDb({ url: database.url, pool: 1, log });
  ends.push(() => sql.end());
  assert.deepEqual((await migrate(sql, log, { folder })).applied, [name]);
  const [row] = await sql<{ valid: boolean }[]>`
    select indisvalid and indisunique as valid from pg_index where indexrelid = 'plain_by_id'::regclass`;
  assert.equal(row!.valid, true);
});

test("reads, writes, a new partition and a dropped partition are possible while an index is built", async () => {
  const { database, folder, name, sql } = await newTable();
  const close = await openSnapshot(database);
  const running = migrate(sql, log, { folder });
  await untilBuilding(database);
  await database.sql.unsafe("create table things_p4 partition of things for values from (12000) to (16000)");
  await database.sql`insert into things values (${12_001}, ${"new"}), (${1}, ${"again"})`;
  await database.sql`update things set kind = 'changed' where id = ${4001}`;
  // The partition that is being built is locked against a drop; the others are not.
  await database.sql.unsafe("drop table things_p1");
  assert.equal((await schemaState(database.sql)).name === name, false);
  await close();
  assert.deepEqual((await running).applied, [name]);
  assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p2", "things_p3", "things_p4"]));
});

test("when the last partition is dropped during its build, the parent's index becomes valid", async () => {
  const { database, folder, name, sql } = await newTable();
  // Allows reads and makes the build of things_p3 wait for its first lock.
  let unlock = () => {};
  const unlocked = new Promise<void>((resolve) => (unlock = resolve));
  let locked = false;
  const dropping = database.sql.begin(async (tx) => {
    await tx.unsafe("lock table things_p3 in share row exclusive mode");
    locked = true;
    await unlocked;
    await tx.unsafe("drop table things_p3");
  });
  await until("the lock", () => locked);
  await database.sql.unsafe(`create index things_by_kind on only things (lower(kind), id) where kind <> ';';
    create index things_p1_x on things_p1 (lower(kind), id) where kind <> ';';
    alter index things_by_kind attach partition things_p1_x;
    drop table things_p2`);
  const running = migrate(sql, log, { folder });
  await until("the build to wait for things_p3", async () => {
    const rows = await database.sql`select 1 from pg_locks where relation = 'things_p3'::regclass and not granted`;
    return rows.length > 0;
  });
  unlock();
  await dropping;
  assert.deepEqual((await running).applied, [name]);
  assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p1"]));
});

for (const pool of [1, 2])
  test(`a stop ends a build and the wait for one (pool of ${pool}), and the next start completes the index`, async () => {
    const { database, folder, name } = await newTable();
    const [sql, other] = [openDb({ url: database.url, pool, log }), openDb({ url: database.url, pool, log })];
    ends.push(() => sql.end());
    ends.push(() => other.end());
    const close = await openSnapshot(database);
    const stop = new AbortController();
    const reported: MigrationProgress[] = [];
    const options = { folder, stop: stop.signal, onProgress: (progress: MigrationProgress) => reported.push(progress) };
    const building = assert.rejects(migrate(sql, log, options), { message: "enough" });
    await untilBuilding(database);
    const waiting = assert.rejects(migrate(other, log, options), { message: "enough" });
    await until("the second to wait", () => reported.some(({ kind }) => kind === "queued"));
    stop.abort(new Error("enough"));
    await Promise.all([building, waiting]);
    if (pool > 1)
      await until("the build to be canceled", async () => {
        const rows = await database.sql`select 1 from pg_stat_progress_create_index where datname = current_database()`;
        return rows.length === 0;
      });
    await close();
    assert.deepEqual((await migrate(sql, log, { folder })).applied, [name]);
    assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p1", "things_p2", "things_p3"]));
  });

test("a parent's index that is invalid although every partition has the index becomes valid", async () => {
  const { database, folder, name, sql } = await newTable();
  await database.sql.unsafe(`create index things_by_kind on only things (lower(kind), id) where kind <> ';';
    create index things_p1_x on things_p1 (lower(kind), id) where kind <> ';';
    alter index things_by_kind attach partition things_p1_x;
    drop table things_p2, things_p3`);
  assert.equal((await indexesOf(database))[0]!.valid, false);
  assert.deepEqual((await migrate(sql, log, { folder })).applied, [name]);
  assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p1"]));
});

test("a lost connection leaves an invalid index, which the next start drops and rebuilds", async () => {
  const { database, folder, name, sql } = await newTable();
  const close = await openSnapshot(database);
  const running = assert.rejects(migrate(sql, log, { folder }));
  await untilBuilding(database);
  await database.sql`select pg_terminate_backend(pid) from pg_stat_progress_create_index where datname = current_database()`;
  await running;
  assert.deepEqual(
    (await indexesOf(database)).find(({ table }) => table === "things_p3"),
    {
      table: "things_p3",
      valid: false,
      attached: false,
    },
  );
  await close();
  assert.deepEqual((await migrate(sql, log, { folder })).applied, [name]);
  assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p1", "things_p2", "things_p3"]));
});

test("after kill -9 during a build the next start waits for the build in the server and completes the rest", async () => {
  const { database, folder, name, sql } = await newTable();
  const close = await openSnapshot(database);
  const script = fileURLToPath(new URL("../../test/upgrade/migrate-child.ts", import.meta.url));
  const child = spawn(process.execPath, [script, database.url, folder.href], { stdio: "ignore" });
  await untilBuilding(database);
  child.kill("SIGKILL");
  await once(child, "exit");
  const reported: MigrationProgress[] = [];
  const next = migrate(sql, log, { folder, onProgress: (progress) => reported.push(progress) });
  await until("the next start to wait", () => reported.some(({ kind }) => kind === "queued"));
  await close();
  assert.deepEqual((await next).applied, [name]);
  assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p1", "things_p2", "things_p3"]));
});

test("two nodes that start together build the index once, and the second one waits", async () => {
  const { database, folder, name, sql } = await newTable();
  const other = openDb({ url: database.url, pool: 2, log });
  ends.push(() => other.end());
  const close = await openSnapshot(database);
  const first = migrate(sql, log, { folder });
  await untilBuilding(database);
  const reported: MigrationProgress[] = [];
  const second = migrate(other, log, { folder, onProgress: (progress) => reported.push(progress) });
  await until("the second to wait", () => reported.some(({ kind }) => kind === "queued"));
  await close();
  const done = await Promise.all([first, second]);
  assert.deepEqual(
    done.flatMap(({ applied }) => applied),
    [name],
  );
  assert.deepEqual([...(await indexesOf(database))], complete(["things", "things_p1", "things_p2", "things_p3"]));
});

test("the index names of partitions have at most 63 characters and differ", () => {
  assert.equal(partitionIndexName("emails_p20261116", "emails_by_a"), "emails_p20261116_emails_by_a");
  const long = [1, 2].map((n) =>
    partitionIndexName(`webhook_deliveries_p2026111${n}`, "webhook_deliveries_by_something_of_great_length"),
  );
  assert.ok(long.every((name) => name.length <= 63));
  assert.notEqual(long[0], long[1]);
});
