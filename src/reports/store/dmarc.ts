/** Reads the counts of DMARC reports for ReportService. The cost grows with the days of the range and the addresses on each, both bounded. */
import type { Sql } from "../../postgres/pool.ts";
import type { DmarcCounts } from "../rules/counts.ts";
import type { DaySpan } from "../rules/span.ts";

export type DomainKey = { workspaceId: string; domainId: string };

/** Days that are not empty, by their start in ms. Index dmarc_counts_by_day. */
export async function dmarcByDay(sql: Sql, domain: DomainKey, span: DaySpan): Promise<Map<number, DmarcCounts>> {
  const rows = await sql<(DmarcCounts & { dayMs: number })[]>`
    select ${startMs(sql, sql`day`)} as "dayMs", ${sums(sql)} from dmarc_counts where ${within(sql, domain, span)} group by day`;
  return new Map(rows.map(({ dayMs, ...counts }) => [dayMs, counts]));
}

/** Index dmarc_counts_by_day. */
export async function countSources(
  sql: Sql,
  domain: DomainKey,
  span: DaySpan,
): Promise<{ sources: number; reporters: number }> {
  const counted = within(sql, domain, span);
  // Not count(distinct), which sorts all rows: "select distinct" hashes them.
  const [row] = await sql<{ sources: number; reporters: number }[]>`
    select (select count(*)::int from (select distinct ip from dmarc_counts where ${counted} and ip <> '') s) as sources,
      (select count(*)::int from (select distinct r from dmarc_counts, unnest(reporters) r where ${counted}) r) as reporters`;
  return row!;
}

export type DmarcSource = DmarcCounts & {
  ip: string;
  headerFrom: string[];
  dkimDomains: string[];
  spfDomains: string[];
  reporters: string[];
  overrides: string[];
  firstMs: number;
  lastMs: number;
};

/** Where a page of sources goes on: after this one, in the order of the list. */
export type SourcePosition = { messages: number; ip: string };

export const listedValues = 10;

/**
 * Those with the most messages first. Index dmarc_counts_by_day for the sums, and the primary key for the details of each source of the page.
 * The first and the last day may be outside of the range.
 */
export async function dmarcSources(
  sql: Sql,
  domain: DomainKey,
  page: DaySpan & { unalignedOnly: boolean; after: SourcePosition | undefined; limit: number },
): Promise<DmarcSource[]> {
  const { after } = page;
  const counted = within(sql, domain, page);
  const values = (column: ReturnType<Sql>) =>
    sql`array(select distinct v from dmarc_counts c, unnest(${column}) v where ${counted} and c.ip = p.ip order by v limit ${listedValues})`;
  return await sql<DmarcSource[]>`
    with page as materialized (
      select ip, ${sums(sql)} from dmarc_counts where ${counted} group by ip
      having ${page.unalignedOnly ? sql`sum(messages) > sum(aligned)` : sql`true`}
        and ${after ? sql`(sum(messages) < ${after.messages}::float8 or sum(messages) = ${after.messages}::float8 and ip > ${after.ip})` : sql`true`}
      order by sum(messages) desc, ip limit ${page.limit}
    )
    select p.*, array(select distinct header_from from dmarc_counts c where ${counted} and c.ip = p.ip order by 1 limit ${listedValues}) as "headerFrom",
      ${values(sql`c.dkim_domains`)} as "dkimDomains", ${values(sql`c.spf_domains`)} as "spfDomains",
      ${values(sql`c.reporters`)} as reporters, ${values(sql`c.overrides`)} as overrides,
      (select ${startMs(sql, sql`min(day)`)} from dmarc_counts d where d.workspace_id = ${domain.workspaceId} and d.domain_id = ${domain.domainId} and d.ip = p.ip) as "firstMs",
      (select ${startMs(sql, sql`max(day)`)} from dmarc_counts d where d.workspace_id = ${domain.workspaceId} and d.domain_id = ${domain.domainId} and d.ip = p.ip) as "lastMs"
    from page p order by p.messages desc, p.ip`;
}

/** The addresses with the most messages that failed DMARC, without the sum of those past the limits. Index dmarc_counts_by_day. */
export async function largestFailing(
  sql: Sql,
  domain: DomainKey,
  span: DaySpan & { limit: number },
): Promise<{ ip: string; failed: number }[]> {
  return await sql<{ ip: string; failed: number }[]>`
    select ip, sum(messages) - sum(aligned) as failed from dmarc_counts where ${within(sql, domain, span)} and ip <> '' group by ip
    having sum(messages) > sum(aligned) order by failed desc, ip limit ${span.limit}`;
}

export function startMs(sql: Sql, day: ReturnType<Sql>) {
  return sql`(extract(epoch from (${day})::timestamp) * 1000)::float8`;
}

function sums(sql: Sql) {
  return sql`sum(messages) as messages, sum(aligned) as aligned, sum(dkim_aligned) as "dkimAligned", sum(spf_aligned) as "spfAligned",
    sum(delivered) as delivered, sum(quarantined) as quarantined, sum(rejected) as rejected`;
}

export function within(sql: Sql, { workspaceId, domainId }: DomainKey, { fromMs, toMs }: DaySpan) {
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return sql`workspace_id = ${workspaceId} and domain_id = ${domainId} and day >= ${dayOf(fromMs)}::date and day < ${dayOf(toMs)}::date`;
}
