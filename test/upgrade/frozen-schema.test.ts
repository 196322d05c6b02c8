/** Rows in every table of the frozen first schema are unchanged after all later migrations. New migrations need no change here. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { silentLog } from "../../src/ops/log.ts";
import { withoutReceipt } from "../../src/postgres/brief-locks.ts";
import { migrate, readMigrations } from "../../src/postgres/migrate.ts";
import { createPartitions } from "../../src/postgres/partitions.ts";
import { openDb, type Sql } from "../../src/postgres/pool.ts";
import { schemaState } from "../../src/postgres/schema-state.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { newDataDir, programEnv, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A database as the program of commit 8e1c905 leaves it: migration 0001 and its record, partitions, and rows. */
async function frozenDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase({ migrated: false });
  ends.push(database.drop);
  const { sql } = database;
  const [first] = await readMigrations();
  const rows = await readFile(new URL("frozen-rows.sql", import.meta.url), "utf8");
  await sql.begin(async (tx) => {
    await tx`create table schema_migrations (
      version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`;
    await tx.unsafe(first!.text);
    await tx`insert into schema_migrations (version, name, checksum) values (1, ${first!.name}, ${first!.checksum})`;
  }, withoutReceipt);
  await createPartitions(sql, Date.now());
  await sql.begin(async (tx) => {
    await tx.unsafe(`create function pg_temp.uuid7(n int) returns uuid language sql as $$
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid $$`);
    await tx.unsafe(rows);
  }, withoutReceipt);
  return database;
}

/** Reads every row of every table, with the current columns or with those of an earlier result. */
async function readAll(sql: Sql, earlier?: Map<string, Table>): Promise<Map<string, Table>> {
  const tables = await sql<{ table: string; columns: string[] }[]>`
    select c.table_name as table, array_agg(c.column_name::text order by c.column_name) as columns
    from information_schema.columns c join pg_class p on p.oid = format('%I.%I', c.table_schema, c.table_name)::regclass
    where c.table_schema = 'public' and p.relkind in ('r', 'p') and not p.relispartition group by c.table_name order by 1`;
  const found = new Map<string, Table>();
  for (const { table, columns: currentColumns } of tables) {
    const columns = earlier?.get(table)?.columns ?? currentColumns;
    const list = columns.map((column) => `"${column}"`).join(", ");
    const rows = await sql.unsafe<{ row: string }[]>(
      `select to_jsonb(x)::text as row from (select ${list} from "${table}") x order by 1`,
    );
    found.set(table, { columns, rows: rows.map(({ row }) => row) });
  }
  return found;
}
type Table = { columns: string[]; rows: string[] };

test("every migration leaves every row of every table as it was", async () => {
  const { sql } = await frozenDatabase();
  const before = await readAll(sql);
  const empty = [...before].filter(([, { rows }]) => rows.length === 0).map(([table]) => table);
  assert.deepEqual(empty, [], "tables without a row: add one to frozen-rows.sql");
  assert.ok(before.size >= 30, `${before.size} tables`);
  await migrate(sql, silentLog());
  assert.equal((await schemaState(sql)).version, (await readMigrations()).length);
  const after = await readAll(sql, before);
  for (const [table, { rows }] of before) {
    // Later migrations that the first program cannot work with add rows to this table.
    if (table === "schema_migrations") assert.deepEqual(after.get(table)?.rows.slice(0, 1), rows);
    else assert.deepEqual(after.get(table)?.rows, rows, table);
  }
});

test("posthorn migrate reports each file, and the program starts with every row unchanged", async () => {
  const database = await frozenDatabase();
  const before = await readAll(database.sql);
  const dataDir = await newDataDir();
  ends.push(() => rm(dataDir, { recursive: true, force: true }));
  const steps = await readMigrations();
  const run = (...args: string[]) => runCommand(["migrate", ...args], { dataDir, databaseUrl: database.url });
  const first = await run();
  assert.equal(first.code, 0, first.stderr);
  for (const { name } of steps.slice(1)) assert.match(first.stdout, new RegExp(`^${name}: applied in \\d+ ms$`, "m"));
  assert.match(first.stdout, new RegExp(`^The schema is at version ${steps.length} \\(${steps.at(-1)!.name}\\)`, "m"));
  const { version, applied, program } = JSON.parse((await run("--json")).stdout);
  assert.deepEqual({ version, applied, program }, { version: steps.length, applied: [], program: steps.length });

  // Only the role api: other roles would deliver, count and clean up.
  const program2 = await startProgram({ databaseUrl: database.url, dataDir, env: { POSTHORN_ROLES: "api" } });
  ends.push(() => program2.stop());
  const after = await readAll(database.sql, before);
  for (const [table, { rows }] of before) {
    const kept = new Set(after.get(table)?.rows);
    assert.deepEqual(
      rows.filter((row) => !kept.has(row)),
      [],
      table,
    );
  }
});

test("a start and commands that wait for a migration lock report that, and a signal ends them", async () => {
  const database = await frozenDatabase();
  const dataDir = await newDataDir();
  ends.push(() => rm(dataDir, { recursive: true, force: true }));
  let endReader = () => {};
  const readerEnded = new Promise<void>((resolve) => (endReader = resolve));
  let reading = false;
  const report = database.sql.begin(async (tx) => {
    await tx`select count(*) from workers`;
    reading = true;
    await readerEnded;
  }, withoutReceipt);
  ends.push(async () => {
    endReader();
    await report;
  });
  await until("the reader", () => reading);
  const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
  const env = programEnv(dataDir, { databaseUrl: database.url });
  const stopped = await Promise.all(
    ["start", "migrate", "events", "keys list"].map(async (command) => {
      const child = spawn(process.execPath, [bin, ...command.split(" ")], { env, stdio: ["ignore", "pipe", "pipe"] });
      ends.push(async () => child.kill("SIGKILL"));
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
      await until(`${command} to report that it waits`, () => /(waits|waiting) for a lock/.test(output));
      child.kill("SIGTERM");
      const [code, signal] = await once(child, "close");
      assert.doesNotMatch(output, /\n\s+at /);
      return { command, ended: code ?? signal, last: output.trim().split("\n").at(-1)! };
    }),
  );
  assert.deepEqual(
    stopped.map(({ command, ended }) => [command, ended]),
    [
      ["start", 0],
      ["migrate", 1],
      ["events", 0],
      ["keys list", "SIGTERM"],
    ],
  );
  assert.match(stopped[0]!.last, /"stopped"/);
  assert.match(stopped[1]!.last, /^Interrupted\. Finished steps are kept/);
  assert.equal((await schemaState(database.sql)).version, 1);
});

test("a start on data of a development version fails with the cause and what to do, without mentioning other nodes", async () => {
  const dataDir = await newDataDir();
  ends.push(() => rm(dataDir, { recursive: true, force: true }));
  const program = await startProgram({ dataDir });
  const { url } = JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8")) as { url: string };
  const sql = openDb({ url, pool: 1, log: silentLog() });
  await sql`update schema_migrations set checksum = 'of a development version' where version = 1`;
  await sql.end();
  assert.equal(await program.stop(), 0);
  for (const command of ["start", "migrate"]) {
    const { code, stderr } = await runCommand([command], { dataDir });
    assert.equal(code, 1);
    assert.match(stderr, /this data was created by a development version from before the first release/);
    assert.ok(stderr.includes(`start the commit that created it on ${dataDir}, let it send the queued mail`), stderr);
    assert.ok(stderr.includes(`set POSTHORN_DATA_DIR to a new directory. ${dataDir} is not changed.`), stderr);
    assert.doesNotMatch(stderr, /node|DATABASE_URL|\n\s+at /);
  }
});
