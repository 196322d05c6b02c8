/** Data made by the frozen first schema, with rows in every table, is the same after all later migrations. Needs no change for a new one. */
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { afterEach, test } from "node:test";
import { silentLog } from "../../src/ops/log.ts";
import type { Sql } from "../../src/store/db.ts";
import { migrate, readMigrations } from "../../src/store/migrate.ts";
import { ensurePartitions } from "../../src/store/partitions.ts";
import { schemaState } from "../../src/store/schema-state.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { newDataDir, runCommand, startProgram } from "../harness/program.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The database as the program of commit 8e1c905 leaves it: 0001 and its record, partitions, and rows. */
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
  });
  await ensurePartitions(sql);
  await sql.begin(async (tx) => {
    await tx.unsafe(`create function pg_temp.uuid7(n int) returns uuid language sql as $$
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid $$`);
    await tx.unsafe(rows);
  });
  return database;
}

/** Every row of every table by the columns that there are now, or by those of an earlier look. */
async function readAll(sql: Sql, like?: Map<string, Table>): Promise<Map<string, Table>> {
  const tables = await sql<{ table: string; columns: string[] }[]>`
    select c.table_name as table, array_agg(c.column_name::text order by c.column_name) as columns
    from information_schema.columns c join pg_class p on p.oid = format('%I.%I', c.table_schema, c.table_name)::regclass
    where c.table_schema = 'public' and p.relkind in ('r', 'p') and not p.relispartition group by c.table_name order by 1`;
  const found = new Map<string, Table>();
  for (const { table, columns: now } of tables) {
    const columns = like?.get(table)?.columns ?? now;
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
    // Later migrations that stop the first program add to its record.
    if (table === "schema_migrations") assert.deepEqual(after.get(table)?.rows.slice(0, 1), rows);
    else assert.deepEqual(after.get(table)?.rows, rows, table);
  }
});

test("posthorn migrate says what it does file by file, and the program starts on the data with every row in it", async () => {
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

  // The API alone: the other roles would deliver, count and tidy up.
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
