/**
 * Lists emails for EmailService, newest first by id, which is by time. One index gives the candidates, and the other filters are checked on
 * them. A page reads a bounded number of candidates, so that a filter that few emails match costs no more than one that all match.
 */
import { firstUuidAt } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { listedOutcomes, type Outcome } from "../rules/outcome.ts";
import { outcomesOfEarlierEmails } from "./outcome-backfills.ts";
import { outcomeNow } from "./outcomes.ts";
import { columns, counts, type EmailRow, type EmailState, isLeased } from "./reads.ts";

export type EmailFilter = {
  workspaceId: string;
  before?: string;
  limit: number;
  status?: EmailState;
  outcomes?: readonly Outcome[];
  keyId?: string;
  recipient?: string;
  domain?: string;
  metadataKey?: string;
  metadataValue?: string;
  createdAfter?: Date;
  createdBefore?: Date;
  search?: { emailId?: string; text: string };
  /** The most candidates to read. Default: 20 for each row of the page. */
  mostCandidates?: number;
};

/** `resumeBefore`: the list goes on after this id, although the page is not full. */
export type EmailList = { rows: EmailRow[]; resumeBefore: string | undefined };

const candidatesPerRow = 20;

/** The id is made shortly before the commit and by the database's clock, so its time and created_at differ by less than this. */
const idSlackMs = 3_600_000;

/** Ids cover the years 1970 to 10889; other times are clamped to this range. */
function idAt(time: Date, slackMs: number): string {
  return firstUuidAt(Math.min(Math.max(time.getTime() + slackMs, 0), 2 ** 48 - 1));
}

export async function listEmails(sql: Sql, filter: EmailFilter): Promise<EmailList> {
  const most = mostCandidates(filter);
  const candidates = candidatesOf(sql, filter, await listedUnder(sql, filter));
  const rows = await sql<EmailRow[]>`
    select ${columns(sql)} from (select id from (${candidates} order by id desc limit ${most}) c) c
    cross join lateral (select * from emails where workspace_id = ${filter.workspaceId} and id = c.id offset 0) e ${counts(sql)}
    where true ${conditions(sql, filter)} order by e.id desc limit ${filter.limit}`;
  if (rows.length >= filter.limit) return { rows, resumeBefore: undefined };
  const [last] = await sql<{ id: string }[]>`
    select id from (${candidates} order by id desc limit ${most}) c order by id desc offset ${most - 1} limit 1`;
  return { rows, resumeBefore: last?.id };
}

/** Free text and metadata have no index in the order of ids. */
function mostCandidates({ limit, search, metadataKey, mostCandidates }: EmailFilter): number {
  return search || metadataKey !== undefined ? 1e9 : (mostCandidates ?? candidatesPerRow * limit);
}

/** Outcomes by which the emails are listed, if that finds all of them: not before the emails of earlier programs are counted. */
async function listedUnder(sql: Sql, { status, outcomes }: EmailFilter): Promise<readonly Outcome[] | undefined> {
  const wanted = outcomes ?? outcomesOf(status);
  if (!wanted?.every((outcome) => listedOutcomes.includes(outcome))) return undefined;
  const [row] =
    await sql`select 1 from backfills where name = ${outcomesOfEarlierEmails.name} and finished_at is not null`;
  return row && wanted;
}

/** The outcomes that an email with this status can have. Undefined: others than those with a list. */
function outcomesOf(status: EmailState | undefined): readonly Outcome[] | undefined {
  if (status === "queued" || status === "processing") return listedOutcomes.filter((outcome) => outcome !== "canceled");
  if (status === "failed") return listedOutcomes.filter((outcome) => outcome !== "queued" && outcome !== "delayed");
  return undefined;
}

/** The ids that the most selective index gives, of which `conditions` keeps some. */
function candidatesOf(sql: Sql, filter: EmailFilter, listed: readonly Outcome[] | undefined) {
  const { workspaceId, recipient, keyId, domain } = filter;
  const from = filter.createdAfter && idAt(filter.createdAfter, -idSlackMs);
  const to = filter.createdBefore && idAt(filter.createdBefore, idSlackMs);
  const inRange = (id: ReturnType<typeof sql>) =>
    sql`${filter.before ? sql`and ${id} < ${filter.before}` : sql``} ${from ? sql`and ${id} >= ${from}` : sql``} ${to ? sql`and ${id} < ${to}` : sql``}`;
  if (recipient)
    return sql`select distinct email_id as id from recipients where workspace_id = ${workspaceId} and lower(address) = lower(${recipient}) ${inRange(sql`email_id`)}`;
  if (listed) {
    const most = mostCandidates(filter);
    return sql`select l.id from unnest(${listed}::text[]) as o(outcome) cross join lateral (
      select email_id as id from email_outcomes where workspace_id = ${workspaceId} and outcome = o.outcome ${inRange(sql`email_id`)}
      order by email_id desc limit ${most}) l`;
  }
  if (keyId)
    return sql`select id from emails where workspace_id = ${workspaceId} and key_id = ${keyId} ${inRange(sql`id`)}`;
  if (domain)
    return sql`select id from emails where workspace_id = ${workspaceId} and domain = ${domain} ${inRange(sql`id`)}`;
  return sql`select id from emails where workspace_id = ${workspaceId} ${inRange(sql`id`)}`;
}

function conditions(sql: Sql, filter: EmailFilter) {
  const { status, outcomes, keyId, domain, metadataKey: key, metadataValue: value, search } = filter;
  const like = search && `%${search.text.replace(/[\\%_]/g, "\\$&")}%`;
  return sql`
    ${statusIs(sql, status)}
    ${outcomes ? sql`and (select ${outcomeNow(sql)} from (select n.*) m) = any(${outcomes}::text[])` : sql``}
    ${keyId ? sql`and e.key_id = ${keyId}` : sql``}
    ${domain ? sql`and e.domain = ${domain}` : sql``}
    ${key !== undefined ? (value === undefined ? sql`and e.metadata ? ${key}` : sql`and e.metadata @> ${JSON.stringify({ [key]: value })}::text::jsonb`) : sql``}
    ${filter.createdAfter ? sql`and e.created_at >= ${filter.createdAfter}` : sql``}
    ${filter.createdBefore ? sql`and e.created_at < ${filter.createdBefore}` : sql``}
    ${
      search && like
        ? sql`and (${search.emailId ? sql`e.id = ${search.emailId}` : sql`false`} or e.message_id = ${search.text} or e.subject ilike ${like}
        or exists (select 1 from recipients r where r.workspace_id = e.workspace_id and r.email_id = e.id and r.address ilike ${like}))`
        : sql``
    }`;
}

function statusIs(sql: Sql, status: EmailState | undefined) {
  if (status === undefined) return sql``;
  if (status === "processing") return sql`and e.open > 0 and ${isLeased(sql)}`;
  if (status === "queued") return sql`and e.status = 'queued' and not ${isLeased(sql)}`;
  return sql`and e.status = ${status}`;
}
