/** The record of applied migrations: the version of the schema and the programs it serves. Used by migrate.ts and commands. */
import type { Migration } from "./migration-files.ts";
import type { Sql } from "./pool.ts";
import type { AppliedMigration } from "./schema-verdict.ts";

/** Version 1 is recorded in schema_migrations, the only table that the program of version 1 reads; later versions in schema_versions. */
export async function readApplied(sql: Sql): Promise<AppliedMigration[]> {
  // Not to_regclass: inside a transaction it may use a cache without the table that another node has just committed.
  const [exists] = await sql<{ first: boolean; later: boolean }[]>`
    select coalesce(bool_or(relname = 'schema_migrations'), false) as first, coalesce(bool_or(relname = 'schema_versions'), false) as later
    from pg_class where relname in ('schema_migrations', 'schema_versions') and pg_table_is_visible(oid)`;
  if (!exists!.first) return [];
  // A row that is only in the old table comes from a program without `serves`: it serves its own version only.
  if (!exists!.later)
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

/** Creates schema_migrations exactly as the program of schema version 1 does. */
export async function createRecord(tx: Sql): Promise<void> {
  await tx`create table if not exists schema_migrations (
    version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`;
}

export async function recordMigration(tx: Sql, { version, name, checksum, serves = 1 }: Migration): Promise<void> {
  if (version === 1) {
    await tx`insert into schema_migrations (version, name, checksum) values (${version}, ${name}, ${checksum})`;
    return;
  }
  const [row] = await tx<{ serves: number }[]>`
    insert into schema_versions (version, name, checksum, serves)
    select ${version}::int, ${name}, ${checksum}, greatest(${serves}::int, coalesce(max(serves), 1)) from schema_versions returning serves`;
  // The program of version 1 does not read `serves`. It refuses to start when this table has a version that it does not know.
  if (row!.serves > 1)
    await tx`insert into schema_migrations (version, name, checksum) values (${version}, ${name}, ${checksum})`;
}
