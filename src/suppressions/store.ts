/**
 * SQL of a workspace's suppression list. Called by service.ts. Bounces and complaints are added by delivery/store/settle.ts and
 * inbound/store/returns.ts. The list ignores case: an address that complained in one spelling must not get mail in another. Only SQL
 * makes addresses lower case, because delivery/store/lease.ts compares them in SQL, and JavaScript has other rules for some letters.
 */
import type { Sql } from "../postgres/pool.ts";

export type SuppressionReason = "bounce" | "complaint" | "manual" | "import";

export type SuppressionRow = {
  address: string;
  reason: SuppressionReason;
  sourceEvent: string | null;
  note: string;
  createdAt: Date;
  /** Microseconds since 1970, for page tokens: a Date has only milliseconds. */
  createdMicros: string;
};

export type SuppressionFilter = {
  workspaceId: string;
  reason?: SuppressionReason;
  search?: string;
  before?: { micros: string; address: string };
  limit: number;
};

/** Newest first, index suppressions_newest. */
export async function listSuppressions(sql: Sql, filter: SuppressionFilter): Promise<SuppressionRow[]> {
  const { before } = filter;
  const like = filter.search && `%${filter.search.replace(/[\\%_]/g, "\\$&")}%`;
  return await sql<SuppressionRow[]>`
    select ${columns(sql)} from suppressions where workspace_id = ${filter.workspaceId}
    ${filter.reason ? sql`and reason = ${filter.reason}` : sql``}
    ${like ? sql`and address like lower(${like}::text)` : sql``}
    ${
      before
        ? sql`and created_at <= to_timestamp(0) + ${before.micros}::bigint * interval '1 microsecond'
      and (created_at < to_timestamp(0) + ${before.micros}::bigint * interval '1 microsecond' or address > ${before.address})`
        : sql``
    }
    order by created_at desc, address limit ${filter.limit}`;
}

/** Sorted by address, starting after the last one of the previous page. Primary key. */
export async function exportSuppressions(
  sql: Sql,
  page: { workspaceId: string; after: string; limit: number },
): Promise<SuppressionRow[]> {
  return await sql<SuppressionRow[]>`
    select ${columns(sql)} from suppressions where workspace_id = ${page.workspaceId} and address > ${page.after}
    order by address limit ${page.limit}`;
}

/** Returns how many were added. Existing entries are not changed, and of several for one address the first is added. */
export async function addSuppressions(
  sql: Sql,
  input: { workspaceId: string; reason: "manual" | "import"; entries: readonly { address: string; note: string }[] },
): Promise<number> {
  const { entries } = input;
  const rows = await sql.write`
    insert into suppressions (workspace_id, address, reason, note)
    select ${input.workspaceId}::uuid, lower(address), ${input.reason}, note
    from unnest(${entries.map((e) => e.address)}::text[], ${entries.map((e) => e.note)}::text[]) with ordinality as e(address, note, at)
    order by lower(address), at
    on conflict do nothing returning 1`;
  return rows.length;
}

export async function getSuppression(
  sql: Sql,
  workspaceId: string,
  address: string,
): Promise<SuppressionRow | undefined> {
  const [row] = await sql<SuppressionRow[]>`
    select ${columns(sql)} from suppressions where workspace_id = ${workspaceId} and address = lower(${address}::text)`;
  return row;
}

/** Returns the address as it was listed. */
export async function removeSuppression(sql: Sql, workspaceId: string, address: string): Promise<string | undefined> {
  const [row] = await sql.write<{ address: string }[]>`
    delete from suppressions where workspace_id = ${workspaceId} and address = lower(${address}::text) returning address`;
  return row?.address;
}

function columns(sql: Sql) {
  return sql`address, reason, source_event as "sourceEvent", note, created_at as "createdAt",
    (extract(epoch from created_at) * 1000000)::bigint::text as "createdMicros"`;
}
