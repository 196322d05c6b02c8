/** Reads stored reports for ReportService. */
import { organizationalDomain } from "../../dns/name.ts";
import { firstUuidAt } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { type DaySpan, dayMs } from "../rules/span.ts";
import type { DomainKey } from "./dmarc.ts";

export const reportKinds = ["dmarc", "tls"] as const;
export type ReportKind = (typeof reportKinds)[number];

export type StoredReport = {
  id: string;
  kind: ReportKind;
  via: "mail" | "https";
  organization: string;
  reporter: string;
  reportId: string;
  beginAt: Date;
  endAt: Date;
  receivedAt: Date;
  total: number;
  failed: number;
};

/** Newest first. Primary key. */
export async function listReports(
  sql: Sql,
  domain: DomainKey,
  page: { kind: ReportKind | undefined; before: string | undefined; limit: number },
): Promise<StoredReport[]> {
  const kind = page.kind ? sql`and kind = ${page.kind}` : sql``;
  const before = page.before ? sql`and id < ${page.before}` : sql``;
  return await sql<StoredReport[]>`
    select id, kind, via, organization, reporter, report_id as "reportId", begin_at as "beginAt", end_at as "endAt",
      received_at as "receivedAt", total, failed
    from reports where workspace_id = ${domain.workspaceId} and domain_id = ${domain.domainId} ${kind} ${before}
    order by id desc limit ${page.limit}`;
}

/** When the last report of the kind arrived. Primary key: the newest rows come first, and most domains get both kinds every day. */
export async function lastReportAt(sql: Sql, domain: DomainKey, kind: ReportKind): Promise<Date | undefined> {
  const [row] = await listReports(sql, domain, { kind, before: undefined, limit: 1 });
  return row?.receivedAt;
}

/** The organization whose DMARC reports about these days count the most messages. Primary key: reports arrive after their period begins, or a
 * day before if clocks differ. */
export async function largestReporter(
  sql: Sql,
  domain: DomainKey,
  { fromMs, toMs }: DaySpan,
): Promise<{ reporter: string; messages: number } | undefined> {
  const rows = await sql<{ reporter: string; messages: number }[]>`
    select reporter, sum(total) as messages from reports
    where workspace_id = ${domain.workspaceId} and domain_id = ${domain.domainId} and id >= ${firstUuidAt(fromMs - dayMs)} and kind = 'dmarc'
      and begin_at >= ${new Date(fromMs)} and begin_at < ${new Date(toMs)} group by reporter`;
  const sums = new Map<string, number>();
  for (const { reporter, messages } of rows) {
    const organization = organizationalDomain(reporter);
    sums.set(organization, (sums.get(organization) ?? 0) + messages);
  }
  const [first] = [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return first && { reporter: first[0], messages: first[1] };
}
