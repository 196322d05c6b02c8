/** SQL of the names for which our DNS authorizes DMARC reports: domains with a registration that proves control now. Called by
 * ../service-zone.ts and for the zone file. */
import type { Sql } from "../../postgres/pool.ts";

/** Whether each name is such a domain. Index domains_proved. */
export async function areReported(sql: Sql, names: readonly string[]): Promise<(true | undefined)[]> {
  const rows = await sql<{ domain: string }[]>`
    select k.domain from unnest(${names as string[]}::text[]) as k(domain) where exists (
      select 1 from domains d where d.domain = k.domain and ${isProved(sql)})`;
  const found = new Set(rows.map(({ domain }) => domain));
  return names.map((name) => (found.has(name) ? true : undefined));
}

/** All of them, for the zone file, or the first ones. */
export async function listReported(sql: Sql, limit?: number): Promise<string[]> {
  const rows = await sql<
    { domain: string }[]
  >`select distinct domain from domains d where ${isProved(sql)} order by domain ${limit === undefined ? sql`` : sql`limit ${limit}`}`;
  return rows.map(({ domain }) => domain);
}

/** A DKIM record of the registration was found at its last check. */
function isProved(sql: Sql) {
  return sql`d.deleted_at is null and d.control_proved_at is not null and cardinality(d.signing_slots) > 0`;
}
