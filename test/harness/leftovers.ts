/** For tests of deletions: puts a row into every table that has rows of a workspace or of a person, and finds what is left in any table of
 * the schema. Both read the catalog, so a table that is added later is tested, too. */
import { makeUuid } from "../../src/postgres/ids.ts";
import type { Sql } from "../../src/postgres/pool.ts";

type Column = { name: string; type: string };

/** Values that a check constraint requires. */
const required: Record<string, Record<string, string | null>> = {
  follow_ups: { kind: "reply" },
  unattributed_reports: { kind: "bounce", reason: "no_token" },
  reports: { kind: "dmarc", via: "mail" },
  idempotency: { answer: null },
  account_mail: { kind: "reset" },
  content_objects: { content: "emails", line: "0123456789ab" },
  email_contents: { object: null },
  inbound_contents: { object: null },
  members: { person_id: null, joined_at: null, role: "viewer" },
  email_outcomes: { outcome: "bounced" },
  suppressions: { reason: "manual" },
  unsubscribes: { method: "api" },
  webhooks: { disabled_at: null, disabled_reason: null },
  webhook_deliveries: { status: "delivered" },
};

/** Adds a row to every table that has the column and no row with this id yet. Returns the names of those tables. */
export async function fillTables(
  sql: Sql,
  fill: { column: "workspace_id" | "person_id"; id: string; marker: string; except: readonly string[] },
): Promise<string[]> {
  const filled: string[] = [];
  for (const table of await tablesWith(sql, fill.column)) {
    if (fill.except.includes(table)) continue;
    const rows = await sql`select 1 from ${sql.unsafe(table)} where ${sql.unsafe(fill.column)} = ${fill.id} limit 1`;
    if (rows.length > 0) continue;
    await insertRow(sql, table, fill);
    filled.push(table);
  }
  return filled;
}

async function insertRow(sql: Sql, table: string, fill: { column: string; id: string; marker: string }): Promise<void> {
  const columns = (
    await sql<Column[]>`
      select attname::text as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attidentity = '' order by attnum`
  ).filter(({ name }) => required[table]?.[name] !== null);
  const values = columns.map((column) => {
    if (column.name === fill.column) return quote(fill.id);
    const value = required[table]?.[column.name];
    if (value != null) return quote(value);
    // Some tables refer to the domain.
    if (column.name === "domain_id" && fill.column === "workspace_id")
      return `coalesce((select id from domains where workspace_id = ${quote(fill.id)} limit 1), ${literal(column.type, "")})`;
    // Hashes of tokens are unique.
    return literal(column.type, column.name === "token_hash" ? `${fill.marker} ${makeUuid(Date.now())}` : fill.marker);
  });
  await sql.unsafe(
    `insert into ${table} (${columns.map(({ name }) => name).join(", ")}) values (${values.join(", ")})`,
  );
}

function literal(type: string, marker: string): string {
  if (type === "uuid") return quote(makeUuid(Date.now()));
  if (type === "jsonb") return `${quote(JSON.stringify({ marker }))}::jsonb`;
  if (type === "boolean") return "false";
  if (type === "bytea") return `${quote(marker)}::bytea`;
  if (type.startsWith("timestamp")) return "service_time()";
  if (type === "date") return "service_time()::date";
  if (type === "text[]") return `array[${quote(marker)}]`;
  if (type === "uuid[]") return `array[${quote(makeUuid(Date.now()))}]::uuid[]`;
  if (type.endsWith("[]")) return "'{1}'";
  return type === "text" ? quote(marker) : "1";
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

async function tablesWith(sql: Sql, column: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname::text as name from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = ${column} and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace order by 1`;
  return rows.map(({ name }) => name);
}

/** Rows of any table that contain one of the texts, as `table: row`. */
export async function findLeftovers(sql: Sql, texts: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of await allTables(sql)) {
    const rows = await sql<{ row: string }[]>`
      select left(t::text, 300) as row from ${sql.unsafe(name)} t where t::text ilike any(${patternsOf(texts)}::text[]) limit 3`;
    found.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  return found;
}

/** How many rows of each table contain one of the texts. */
export async function countMatches(sql: Sql, texts: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const name of await allTables(sql)) {
    const [row] = await sql<{ rows: number }[]>`
      select count(*)::int as rows from ${sql.unsafe(name)} t where t::text ilike any(${patternsOf(texts)}::text[])`;
    if (row!.rows > 0) found.set(name, row!.rows);
  }
  return found;
}

async function allTables(sql: Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select relname::text as name from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace order by 1`;
  return tables.map(({ name }) => name);
}

function patternsOf(texts: readonly string[]): string[] {
  return texts.map((text) => `%${text}%`);
}
