import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../test/harness/database.ts";
import { parseMigration } from "./migration-files.ts";
import { readApplied, recordMigration, schemaState } from "./schema-state.ts";

test("the record of migrations is read when empty, after all migrations, and after later ones", async () => {
  const empty = await createTestDatabase({ migrated: false });
  assert.deepEqual(await readApplied(empty.sql), []);
  assert.deepEqual(await schemaState(empty.sql), { version: 0, name: "none", serves: 1 });
  await empty.drop();

  const { sql, drop } = await createTestDatabase();
  const { version } = await schemaState(sql);
  assert.equal((await readApplied(sql)).length, version);
  const next = (n: number, text: string) => parseMigration(`${version + n}_x.sql`, text);
  await recordMigration(sql, next(1, "-- serves: 2\nselect 1"));
  await recordMigration(sql, next(2, "select 2"));
  assert.deepEqual(await schemaState(sql), { version: version + 2, name: `${version + 2}_x.sql`, serves: 2 });
  const unknownToVersion1 = await sql<
    { version: number }[]
  >`select version from schema_migrations where version > 1 order by 1`;
  assert.deepEqual(
    unknownToVersion1.map((row) => row.version),
    [version + 1, version + 2],
    "the program of version 1 must not start",
  );
  // A row that is only in the oldest table serves no program below its version.
  await sql`insert into schema_migrations (version, name, checksum) values (9999, '9999_future.sql', 'x')`;
  assert.equal((await schemaState(sql)).serves, 9999);
  await drop();
});
