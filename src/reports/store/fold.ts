/** Stores a report: its row, its counts, and events about new sources, in one transaction. A report that was stored before changes nothing, so
 * a sender may repeat it. Called by ../receive.ts and ../tls-page.ts. */
import { createHash } from "node:crypto";
import { organizationalDomain } from "../../dns/name.ts";
import { appendEvent } from "../../events/store.ts";
import type { DmarcReport } from "../../mail/reports/dmarc-aggregate.ts";
import type { ReceivedReport } from "../../mail/reports/read.ts";
import { makeUuid, toWireId } from "../../postgres/ids.ts";
import { retrying, type Sql } from "../../postgres/pool.ts";
import { addCounts, noMessages } from "../rules/counts.ts";
import { domainLimit, eventLimit, eventsLeft, limitOf, rowsLeft, type Used, withinRows } from "../rules/limits.ts";
import { failingSources, sourceEvents } from "../rules/new-sources.ts";
import type { ReportedDomain } from "./domains.ts";
import { foldTls } from "./fold-tls.ts";

export type NewReport = {
  domain: ReportedDomain;
  via: "mail" | "https";
  /** The domain that the report is authenticated for; empty if it is not. */
  reporter: string;
  report: ReceivedReport;
  nowMs: number;
  isOwnAddress(ip: string): boolean;
};

/** `full`: the reporter or the domain has used up its reports of the day. `gone`: the domain was deleted meanwhile. */
export type FoldResult = { kind: "stored"; events: number } | { kind: "seen" } | { kind: "full" } | { kind: "gone" };

export async function storeReport(sql: Sql, input: NewReport): Promise<FoldResult> {
  return await retrying(() => sql.begin(async (tx) => await fold(tx as unknown as Sql, input)));
}

async function fold(tx: Sql, input: NewReport): Promise<FoldResult> {
  const { report, reporter, domain } = input;
  // By its organization: the owner of one domain can send reports from any number of subdomains.
  const limited = organizationalDomain(reporter);
  // The row of the domain is locked first, so reports about one domain are stored one after the other.
  const used = { domain: await lockUsed(tx, domain, "*"), reporter: await lockUsed(tx, domain, limited) };
  if (!(await isRegistered(tx, domain))) return { kind: "gone" };
  if (await wasStored(tx, input)) return { kind: "seen" };
  if (used.reporter.reports >= limitOf(reporter).reports || used.domain.reports >= domainLimit.reports)
    return { kind: "full" };
  await insertReport(tx, input);
  const left = rowsLeft(reporter, used);
  const { added, events } =
    report.kind === "dmarc"
      ? await foldDmarc(tx, input, report, { left, used })
      : { added: await foldTls(tx, { domain, report, isAuthenticated: reporter !== "", left }), events: 0 };
  for (const name of ["*", limited])
    await tx`
      update report_limits set reports = reports + 1, new_rows = new_rows + ${added}::int, events = events + ${events}::int
      where workspace_id = ${domain.workspaceId} and domain_id = ${domain.id} and reporter = ${name} and day = ${today(tx)}`;
  return { kind: "stored", events };
}

/** What was used today, by service time. Locks the row until the end of the transaction. Primary key. */
async function lockUsed(tx: Sql, { workspaceId, id }: ReportedDomain, reporter: string): Promise<Used> {
  const [row] = await tx<Used[]>`
    insert into report_limits as l (workspace_id, domain_id, day, reporter, reports, new_rows, events)
    select ${workspaceId}::uuid, ${id}::uuid, ${today(tx)}, ${reporter}, 0, 0, 0
    on conflict (workspace_id, domain_id, day, reporter) do update set reports = l.reports
    returning reports, new_rows as "newRows", events`;
  return row!;
}

function today(sql: Sql) {
  return sql`((select service_time()) at time zone 'utc')::date`;
}

async function isRegistered(tx: Sql, { workspaceId, id }: ReportedDomain): Promise<boolean> {
  const rows = await tx`
    select 1 from domains d join workspaces w on w.id = d.workspace_id
    where d.workspace_id = ${workspaceId} and d.id = ${id} and d.deleted_at is null and w.deleting_at is null`;
  return rows.length > 0;
}

/** Index reports_once. */
async function wasStored(tx: Sql, input: NewReport): Promise<boolean> {
  const { workspaceId, id } = input.domain;
  const rows = await tx`
    select 1 from reports where workspace_id = ${workspaceId} and domain_id = ${id} and fingerprint = ${fingerprintOf(input)}`;
  return rows.length > 0;
}

async function insertReport(tx: Sql, input: NewReport): Promise<void> {
  const { domain, report, via, reporter, nowMs } = input;
  const { total, failed } = totalsOf(report);
  await tx`
    insert into reports (workspace_id, domain_id, id, kind, via, organization, reporter, report_id, begin_at, end_at, received_at,
      total, failed, fingerprint, stored_at)
    select ${domain.workspaceId}::uuid, ${domain.id}::uuid, ${makeUuid(nowMs)}::uuid, ${report.kind}, ${via}, ${report.organization},
      ${reporter}, ${report.reportId}, ${new Date(report.beginMs)}, ${new Date(report.endMs)}, wall_time(),
      ${total}::float8, ${failed}::float8, ${fingerprintOf(input)}, service_time()`;
}

/** A report that is not authenticated is known by the name that its writer uses. Some writers use one id for the reports about a domain and
 * about its subdomains. */
function fingerprintOf({ report, reporter }: NewReport): string {
  const { kind, organization, reportId, beginMs, endMs } = report;
  const writer = reporter === "" ? ["", organization] : [reporter];
  const about = report.kind === "dmarc" ? [report.domain] : report.domains.toSorted();
  return createHash("sha256")
    .update(JSON.stringify([kind, ...writer, reportId, beginMs, endMs, about]))
    .digest("hex");
}

function totalsOf(report: ReceivedReport): { total: number; failed: number } {
  if (report.kind === "tls") return { total: report.succeeded + report.failed, failed: report.failed };
  const { messages, aligned } = report.rows.map(({ counts }) => counts).reduce(addCounts, noMessages);
  return { total: messages, failed: messages - aligned };
}

async function foldDmarc(
  tx: Sql,
  input: NewReport,
  report: DmarcReport,
  limits: { left: number; used: { domain: Used; reporter: Used } },
): Promise<{ added: number; events: number }> {
  const { domain, reporter } = input;
  const day = new Date(report.beginMs).toISOString().slice(0, 10);
  const stored = await storedKeys(tx, domain, day, report);
  const { rows, added } = withinRows(
    report.rows,
    ({ ip, headerFrom }) => stored.has(`${ip} ${headerFrom}`),
    limits.left,
  );
  const failing = failingSources(rows);
  const known = await knownFailing(
    tx,
    domain,
    failing.map(({ ip }) => ip),
  );
  await upsertCounts(tx, input, day, rows);
  const fresh = failing.filter(({ ip }) => !known.has(ip));
  const most = eventsLeft(await isYoung(tx, domain), limits.used);
  const { organization, reportId } = report;
  const about = { domainId: toWireId("domain", domain.id), domain: domain.domain, reporter, organization, reportId };
  const events = sourceEvents(fresh, most, about, input.isOwnAddress);
  // Last, because the counter of the event log is shared by the whole workspace.
  for (const payload of events)
    await appendEvent(tx, {
      id: makeUuid(input.nowMs),
      workspaceId: domain.workspaceId,
      type: "domain.report",
      payload,
    });
  return { added, events: events.length };
}

/** Primary key. */
async function storedKeys(
  tx: Sql,
  { workspaceId, id }: ReportedDomain,
  day: string,
  report: DmarcReport,
): Promise<Set<string>> {
  const rows = await tx<{ ip: string; headerFrom: string }[]>`
    select c.ip, c.header_from as "headerFrom"
    from unnest(${report.rows.map(({ ip }) => ip)}::text[], ${report.rows.map(({ headerFrom }) => headerFrom)}::text[]) as k(ip, header_from)
    cross join lateral (select ip, header_from from dmarc_counts c where c.workspace_id = ${workspaceId} and c.domain_id = ${id}
      and c.ip = k.ip and c.day = ${day}::date and c.header_from = k.header_from limit 1) c`;
  return new Set(rows.map(({ ip, headerFrom }) => `${ip} ${headerFrom}`));
}

/** Those of the addresses that earlier reports name with failing mail. Primary key. */
async function knownFailing(
  tx: Sql,
  { workspaceId, id }: ReportedDomain,
  ips: readonly string[],
): Promise<Set<string>> {
  const rows = await tx<{ ip: string }[]>`
    select k.ip from unnest(${ips as string[]}::text[]) as k(ip) where exists (select 1 from dmarc_counts c
      where c.workspace_id = ${workspaceId} and c.domain_id = ${id} and c.ip = k.ip and c.messages > c.aligned)`;
  return new Set(rows.map(({ ip }) => ip));
}

async function upsertCounts(tx: Sql, input: NewReport, day: string, rows: DmarcReport["rows"]): Promise<void> {
  const { domain, reporter } = input;
  const values = JSON.stringify(
    rows.map(({ ip, headerFrom, counts, dkimDomains, spfDomains, overrides }) => ({
      ip,
      header_from: headerFrom,
      ...counts,
      dkim_domains: dkimDomains,
      spf_domains: spfDomains,
      overrides,
    })),
  );
  const union = (name: string) => {
    const column = tx.unsafe(name);
    return tx`${column} = array(select distinct v from unnest(c.${column} || excluded.${column}) v order by v limit 10)`;
  };
  await tx`
    insert into dmarc_counts as c (workspace_id, domain_id, ip, day, header_from, messages, aligned, dkim_aligned, spf_aligned,
      delivered, quarantined, rejected, dkim_domains, spf_domains, overrides, reporters, stored_at)
    select ${domain.workspaceId}::uuid, ${domain.id}::uuid, r.ip, ${day}::date, r.header_from, r.messages, r.aligned, r."dkimAligned", r."spfAligned",
      r.delivered, r.quarantined, r.rejected, r.dkim_domains, r.spf_domains, r.overrides, array[${reporter}::text], (select service_time())
    from json_to_recordset((${values}::text)::json) as r(ip text, header_from text, messages float8, aligned float8, "dkimAligned" float8,
      "spfAligned" float8, delivered float8, quarantined float8, rejected float8, dkim_domains text[], spf_domains text[], overrides text[])
    on conflict (workspace_id, domain_id, ip, day, header_from) do update set messages = c.messages + excluded.messages,
      aligned = c.aligned + excluded.aligned, dkim_aligned = c.dkim_aligned + excluded.dkim_aligned,
      spf_aligned = c.spf_aligned + excluded.spf_aligned, delivered = c.delivered + excluded.delivered,
      quarantined = c.quarantined + excluded.quarantined, rejected = c.rejected + excluded.rejected,
      ${union("dkim_domains")}, ${union("spf_domains")}, ${union("overrides")}, ${union("reporters")}, stored_at = excluded.stored_at`;
}

/** Whether the first DMARC report about the domain arrived in the last days. Primary key. */
async function isYoung(tx: Sql, { workspaceId, id }: ReportedDomain): Promise<boolean> {
  const [first] = await tx<{ young: boolean }[]>`
    select stored_at > (select service_time()) - ${eventLimit.youngDays} * interval '1 day' as young from reports
    where workspace_id = ${workspaceId} and domain_id = ${id} and kind = 'dmarc' order by id limit 1`;
  return first?.young ?? true;
}
