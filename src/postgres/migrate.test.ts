import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { laterMigrations, type MigrationFolder, ownVersion } from "../../test/harness/migrations.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { type MigrationProgress, migrate, readMigrations } from "./migrate.ts";
import { openDb } from "./pool.ts";
import { readApplied, schemaState } from "./schema-state.ts";

const log = silentLog();
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function newDatabase(migrated = true): Promise<TestDatabase> {
  const database = await createTestDatabase({ migrated });
  ends.push(database.drop);
  return database;
}

async function later(...texts: string[]): Promise<MigrationFolder> {
  const made = await laterMigrations(...texts);
  ends.push(made.remove);
  return made;
}

async function tableExists({ sql }: TestDatabase, name: string): Promise<boolean> {
  const [row] = await sql<{ there: boolean }[]>`select to_regclass(${name}) is not null as there`;
  return row!.there;
}

test("each file commits alone: files before a broken one stay, and the next start continues there", async () => {
  const database = await newDatabase();
  const broken = await later(
    "create table a (id int);",
    "create table b (id int); select 1 / 0;",
    "create table c (id int);",
  );
  await assert.rejects(migrate(database.sql, log, { folder: broken.folder }), /division by zero/);
  assert.equal((await schemaState(database.sql)).name, broken.names[0]);
  assert.equal(await tableExists(database, "b"), false, "a file is applied completely or not at all");
  const fixed = await later("create table a (id int);", "create table b (id int);", "create table c (id int);");
  const { applied, version } = await migrate(database.sql, log, { folder: fixed.folder });
  assert.deepEqual(applied, fixed.names.slice(1));
  assert.equal(version, ownVersion + 3);
  assert.deepEqual((await migrate(database.sql, log, { folder: fixed.folder })).applied, []);
});

test("a connection that is lost in the middle of a file rolls the file back", async () => {
  const database = await newDatabase();
  const { folder, names } = await later(
    "create table a (id int);",
    "create table b (id int); select pg_sleep(sleeps) from pace;",
  );
  await database.sql.unsafe("create table pace as select 60 as sleeps");
  const sql = openDb({ url: database.url, pool: 2, log, name: "migrating" });
  ends.push(() => sql.end());
  const running = assert.rejects(migrate(sql, log, { folder }));
  await endSleeper(database);
  await running;
  assert.equal((await schemaState(database.sql)).name, names[0]);
  assert.equal(await tableExists(database, "b"), false);
  await database.sql`update pace set sleeps = 0`;
  assert.deepEqual((await migrate(sql, log, { folder })).applied, [names[1]]);
});

test("after kill -9 in the middle of a file the next start applies it", async () => {
  const database = await newDatabase();
  const { folder, names } = await later(
    "create table a (id int);",
    "create table b (id int); select pg_sleep(sleeps) from pace;",
  );
  await database.sql.unsafe("create table pace as select 60 as sleeps");
  const script = fileURLToPath(new URL("../../test/upgrade/migrate-child.ts", import.meta.url));
  const child = spawn(process.execPath, [script, database.url, folder.href], { stdio: "ignore" });
  await until("the child to be in the second file", () => sleeper(database));
  child.kill("SIGKILL");
  await once(child, "exit");
  await database.sql`update pace set sleeps = 0`;
  // The server notices the killed client only when its statement ends. Until then the next start waits for the lock.
  const next = migrate(database.sql, log, { folder });
  await endSleeper(database);
  assert.deepEqual((await next).applied, [names[1]]);
  assert.equal(await tableExists(database, "b"), true);
});

test("nodes that start together apply each file once", async () => {
  const database = await newDatabase(false);
  const texts = Array.from({ length: 8 }, (_, i) => `create table t${i} (id int);`);
  const { folder } = await later(...texts);
  const nodes = Array.from({ length: 4 }, () => openDb({ url: database.url, pool: 2, log }));
  ends.push(() => Promise.all(nodes.map((sql) => sql.end())));
  const done = await Promise.all(nodes.map((sql) => migrate(sql, log, { folder })));
  assert.equal(done.flatMap(({ applied }) => applied).length, ownVersion + 8);
  assert.equal((await readApplied(database.sql)).length, ownVersion + 8);
});

test("a migration that waits for a long reader blocks no other session and reports the reader", async () => {
  const database = await newDatabase();
  const { folder, names } = await later("alter table emails add column note text;");
  const reader = openDb({ url: database.url, pool: 1, log, name: "a long report" });
  ends.push(() => reader.end());
  let endReader = () => {};
  const released = new Promise<void>((resolve) => (endReader = resolve));
  let reading = false;
  const report = reader.begin(async (tx) => {
    await tx`select count(*) from emails`;
    reading = true;
    await released;
  });
  await until("the reader", () => reading);
  const reported: MigrationProgress[] = [];
  const running = migrate(database.sql, log, { folder, onProgress: (progress) => reported.push(progress) });
  const waiting = await until("the migration to wait", () => reported.find((one) => one.kind === "waiting"));
  assert.equal(waiting.migration, names[0]);
  assert.deepEqual(waiting.tables, ["emails"]);
  assert.equal(waiting.blocker?.application, "a long report");
  assert.match(waiting.blocker?.query ?? "", /count/);
  // None of these queries queues behind the migration, which keeps retrying until the reader ends.
  const other = openDb({ url: database.url, pool: 1, log });
  ends.push(() => other.end());
  for (let i = 0; i < 200; i++) await other`select 1 from emails limit ${1}`;
  assert.equal((await schemaState(database.sql)).version, ownVersion, "the reader still blocks it");
  endReader();
  await report;
  assert.deepEqual((await running).applied, names);
});

test("the validation of a constraint has no time limit", async () => {
  const database = await newDatabase();
  const { folder, names } = await later(
    "create table things (id int); insert into things select generate_series(1, 1000);",
    "create function slow(int) returns boolean language plpgsql as $$ begin perform pg_sleep(0.002); return $1 > 0; end $$;",
    "alter table things add constraint things_positive check (slow(id)) not valid;",
    "alter table things validate constraint things_positive;",
  );
  assert.deepEqual((await migrate(database.sql, log, { folder })).applied, names);
});

test("a validation does not hold the migration lock, and a second node reports that it waits", async () => {
  const database = await newDatabase();
  const { folder, names } = await later(
    "create table things (id int); insert into things values (1);",
    "create function slow(int) returns boolean language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(99); return true; end $$;",
    "alter table things add constraint things_slow check (slow(id)) not valid;",
    "alter table things validate constraint things_slow;",
  );
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  ends.push(async () => release());
  let holds = false;
  const holding = database.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${99})`;
    holds = true;
    await released;
  });
  await until("the lock", () => holds);
  const first = migrate(database.sql, log, { folder });
  await until("the validation to be at its row", async () => {
    const rows = await database.sql`
      select 1 from pg_locks where locktype = 'advisory' and objid = 99 and not granted
        and database = (select oid from pg_database where datname = current_database())`;
    return rows.length > 0;
  });
  // The migration lock, as the program of schema version 1 takes it.
  await database.sql.begin(async (tx) => void (await tx`select pg_advisory_xact_lock(${0x706f7374})`));
  const other = openDb({ url: database.url, pool: 1, log });
  ends.push(() => other.end());
  const reported: MigrationProgress[] = [];
  const second = migrate(other, log, { folder, onProgress: (progress) => reported.push(progress) });
  await until("the second node to wait", () => reported.some(({ kind }) => kind === "queued"));
  release();
  await holding;
  const done = await Promise.all([first, second]);
  assert.deepEqual(
    done.flatMap(({ applied }) => applied),
    names,
  );
  const [row] = await database.sql`select convalidated as valid from pg_constraint where conname = 'things_slow'`;
  assert.deepEqual(row, { valid: true });
});

test("a stop ends a migration that waits for a lock", async () => {
  const database = await newDatabase();
  const { folder, names } = await later("alter table emails add column note text;");
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  ends.push(async () => release());
  let reading = false;
  const report = database.sql.begin(async (tx) => {
    await tx`select count(*) from emails`;
    reading = true;
    await released;
  });
  await until("the reader", () => reading);
  const stop = new AbortController();
  const onProgress = ({ kind }: MigrationProgress) => kind === "waiting" && stop.abort(new Error("enough"));
  await assert.rejects(migrate(database.sql, log, { folder, stop: stop.signal, onProgress }), { message: "enough" });
  release();
  await report;
  assert.deepEqual((await migrate(database.sql, log, { folder })).applied, names);
});

test("a newer schema that serves this program is not changed; one that does not stops this program and that of version 1", async () => {
  const database = await newDatabase();
  const compatible = await later("create table a (id int);");
  await migrate(database.sql, log, { folder: compatible.folder });
  assert.deepEqual(await migrate(database.sql, log), { applied: [], version: ownVersion + 1, known: ownVersion });
  // The program of version 1 refuses to start when this table has a version that it does not know.
  assert.deepEqual(
    (await database.sql`select version from schema_migrations`).map((row) => row.version),
    [1],
  );

  const next = ownVersion + 2;
  const breaking = await later("create table a (id int);", `-- serves: ${ownVersion + 1}\ncreate table b (id int);`);
  await migrate(database.sql, log, { folder: breaking.folder });
  await assert.rejects(migrate(database.sql, log), {
    name: "SchemaError",
    message: /Upgrade this node to the release/,
  });
  assert.deepEqual((await schemaState(database.sql)).serves, ownVersion + 1);
  assert.deepEqual(
    (await database.sql`select version from schema_migrations order by version`).map((row) => row.version),
    [1, next],
  );
  assert.equal((await migrate(database.sql, log, { folder: breaking.folder })).version, next);
});

test("the program's migrations are numbered without gaps", async () => {
  assert.deepEqual(
    (await readMigrations()).map(({ version }) => version),
    Array.from({ length: ownVersion }, (_, i) => i + 1),
  );
});

async function sleeper({ sql }: TestDatabase): Promise<boolean> {
  const rows = await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  return rows.length > 0;
}

async function endSleeper(database: TestDatabase): Promise<void> {
  await until("a migration that sleeps", () => sleeper(database));
  await database.sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event = 'PgSleep'`;
}
