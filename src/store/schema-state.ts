/** The record of applied migrations: which version the schema has, and which programs it still serves. */
import type { Sql } from "./db.ts";
import type { Migration } from "./migration-files.ts";
import type { AppliedMigration } from "./schema-verdict.ts";

/** Version 1 stands in the table that the program of version 1 reads, later ones in a table of their own. */
export async function readApplied(sql: Sql): Promise<AppliedMigration[]> {
  // Not by to_regclass: inside a transaction it may answer from a cache that does not know yet what another node has just committed.
  const [there] = await sql<{ first: boolean; later: boolean }[]>`
    select coalesce(bool_or(relname = 'schema_migrations'), false) as first, coalesce(bool_or(relname = 'schema_versions'), false) as later
    from pg_class where relname in ('schema_migrations', 'schema_versions') and pg_table_is_visible(oid)`;
  if (!there!.first) return [];
  // A row that only the old table has came from a program that knew no `serves`: it serves none but its own version.
  if (!there!.later)
    return await sql<AppliedMigration[]>`
      select version, name, checksum, version as serves from schema_migrations order by version`;
  return await sql<AppliedMigration[]>`
    select version, name, checksum, serves from schema_versions
    union all select version, name, checksum, version from schema_migrations m
      where not exists (select 1 from schema_versions v where v.version = m.version)
    order by version`;
}

export async function schemaState(sql: Sql): Promise<{ version: number; name: string; serves: number }> {
  const applied = await readApplied(sql);
  const { version = 0, name = "none" } = applied.at(-1) ?? {};
  return { version, name, serves: Math.max(1, ...applied.map((row) => row.serves)) };
}

/** As the program of schema version 1 makes it. */
export async function createRecord(tx: Sql): Promise<void> {
  await tx`create table if not exists schema_migrations (
    version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`;
}

export async function record(tx: Sql, { version, name, checksum, serves = 1 }: Migration): Promise<void> {
  if (version === 1) {
    await tx`insert into schema_migrations (version, name, checksum) values (${version}, ${name}, ${checksum})`;
    return;
  }
  const [row] = await tx<{ serves: number }[]>`
    insert into schema_versions (version, name, checksum, serves)
    select ${version}::int, ${name}, ${checksum}, greatest(${serves}::int, coalesce(max(serves), 1)) from schema_versions returning serves`;
  // The program of version 1 knows no `serves`; a row that it does not know stops it.
  if (row!.serves > 1)
    await tx`insert into schema_migrations (version, name, checksum) values (${version}, ${name}, ${checksum})`;
}
