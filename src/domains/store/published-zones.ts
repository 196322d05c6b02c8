/** Records that our own DNS serves for reserved names in capture mode, so that the whole flow works without internet. */
import type { ResourceRecord } from "../../dns/record.ts";
import type { Sql } from "../../postgres/pool.ts";

export type PublishedZoneRow = { origin: string; records: ResourceRecord[] };

/** The last publisher of a name is served. Undefined: without `takeOver`, another workspace has published the name. */
export async function publishZone(
  sql: Sql,
  zone: { origin: string; workspaceId: string; domainId: string; records: readonly ResourceRecord[] },
  { takeOver }: { takeOver: boolean },
): Promise<{ replaced: boolean } | undefined> {
  const [row] = await sql.write<{ replaced: boolean }[]>`
    with before as (select domain_id from published_zones where origin = ${zone.origin})
    insert into published_zones (origin, workspace_id, domain_id, records)
    values (${zone.origin}, ${zone.workspaceId}, ${zone.domainId}, ${JSON.stringify(zone.records)}::text::jsonb)
    on conflict (origin) do update set workspace_id = excluded.workspace_id, domain_id = excluded.domain_id,
      records = excluded.records, published_at = now()
      where ${takeOver} or published_zones.workspace_id = excluded.workspace_id
    returning exists (select 1 from before where domain_id <> ${zone.domainId}) as replaced`;
  return row;
}

/** Of a name and its parents, the published zone with the longest name. Primary key. */
export async function findPublishedZone(sql: Sql, origins: readonly string[]): Promise<PublishedZoneRow | undefined> {
  const [row] = await sql<PublishedZoneRow[]>`
    select origin, records from published_zones where origin = any(${origins as string[]}::text[]) order by length(origin) desc limit 1`;
  return row;
}
