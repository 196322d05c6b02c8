/** Stores and lists reports that are about no recipient, for people to read. Repeated reports about one email share a row, and a workspace
 * keeps the newest ones only: strangers send these reports. Called by ../reports.ts, ../service.ts and housekeeping. */
import type { Sql } from "../../postgres/pool.ts";
import { shownTime } from "../../postgres/service-clock.ts";
import type { ReportKind, UnattributedReason } from "../rules/attribution.ts";

export type NewUnattributed = {
  id: string;
  workspaceId: string;
  emailId: string;
  kind: ReportKind;
  reason: UnattributedReason;
  /** The address that the report names; it may be forged. Empty: none. */
  namedRecipient: string;
};

export type UnattributedRow = {
  id: string;
  emailId: string;
  kind: ReportKind;
  reason: UnattributedReason;
  namedRecipient: string;
  reports: number;
  firstAt: Date;
  lastAt: Date;
};

/** Rows that a workspace keeps. */
export const maxUnattributed = 1000;

/** Adds a row, or counts the report in the row of its email, kind and reason. A new row removes the oldest ones beyond the limit. */
export async function storeUnattributed(sql: Sql, report: NewUnattributed): Promise<void> {
  const { workspaceId } = report;
  const [stored] = await sql<{ reports: string }[]>`
    insert into unattributed_reports (workspace_id, email_id, kind, reason, id, named_recipient, first_at, last_at)
    values (${workspaceId}, ${report.emailId}, ${report.kind}, ${report.reason}, ${report.id}, ${report.namedRecipient}, service_time(), service_time())
    on conflict (workspace_id, email_id, kind, reason) do update set id = excluded.id, named_recipient = excluded.named_recipient,
      last_at = excluded.last_at, reports = unattributed_reports.reports + 1
    returning reports::text`;
  if (stored?.reports !== "1") return;
  // Index unattributed_newest, in both directions.
  await sql`
    delete from unattributed_reports where workspace_id = ${workspaceId} and id <= (
      select id from unattributed_reports where workspace_id = ${workspaceId} order by id desc offset ${maxUnattributed} limit 1)`;
}

/** Newest first, index unattributed_newest. */
export async function listUnattributed(
  sql: Sql,
  page: { workspaceId: string; before: string | undefined; limit: number },
): Promise<UnattributedRow[]> {
  return await sql<UnattributedRow[]>`
    select id, email_id as "emailId", kind, reason, named_recipient as "namedRecipient", least(reports, 2147483647)::int as reports,
      ${shownTime(sql, sql`first_at`)} as "firstAt", ${shownTime(sql, sql`last_at`)} as "lastAt"
    from unattributed_reports where workspace_id = ${page.workspaceId} ${page.before ? sql`and id < ${page.before}` : sql``}
    order by id desc limit ${page.limit}`;
}

/** Housekeeping: rows are kept as long as emails. At most 5,000 per call, to keep the statement short. Index unattributed_old. */
export async function forgetUnattributed(sql: Sql, keptDays: number): Promise<void> {
  await sql`
    delete from unattributed_reports where (workspace_id, email_id, kind, reason) in (
      select workspace_id, email_id, kind, reason from unattributed_reports
      where last_at < (select service_time()) - ${`${keptDays} days`}::interval limit 5000)`;
}
