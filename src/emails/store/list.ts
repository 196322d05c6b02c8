/**
 * Lists emails for EmailService, newest first by id, which is by time. One index gives the candidates, and the other filters are checked on
 * them. A page reads a bounded number of candidates, so that a filter that few emails match costs no more than one that all match.
 */
import type { Backfill } from "../../postgres/backfill.ts";
import { firstUuidAt } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { planEachTime, planOnce } from "../../postgres/sql.ts";
import { byWeek, isMissingTable, type Tables, tablesOf, type Week } from "../../postgres/weeks.ts";
import { listedOutcomes, type Outcome } from "../rules/outcome.ts";
import { destinationTerm, matches, metadataTerm, siteTerm } from "../rules/terms.ts";
import { conditions, type EmailFilter, type EmailSearch } from "./list-conditions.ts";
import { outcomesOfEarlierEmails } from "./outcome-backfills.ts";
import { outcomeNow } from "./outcomes.ts";
import { columns, counts, type EmailRow, type EmailState } from "./reads.ts";
import { sitesOfEarlierEmails } from "./sites.ts";
import { termsOfEarlierEmails } from "./terms.ts";

export type { EmailFilter, EmailSearch };

/** `resumeBefore`: the list goes on after this id, although the page is not full. */
export type EmailList = { rows: EmailRow[]; resumeBefore: string | undefined };

const candidatesPerRow = 20;
const moreCandidates = 3;

/** So many emails of each word are counted to find the rarest word. */
const mostCompared = 100;

/** Of the accept statements whose emails are not in the index yet, so many are searched. */
const mostArrivals = 50;

/** The time of an id and created_at are the same. Early programs took them from two clocks, whose difference this covers. With an hour, a page
 * of a busy workspace began with thousands of emails outside of its time, and was empty. */
const idSlackMs = 300_000;

/** Ids cover the years 1970 to 10889; other times are clamped to this range. */
function idAt(time: Date, slackMs: number): string {
  return firstUuidAt(Math.min(Math.max(time.getTime() + slackMs, 0), 2 ** 48 - 1));
}

export async function listEmails(sql: Sql, filter: EmailFilter): Promise<EmailList> {
  const most = filter.mostCandidates ?? candidatesPerRow * filter.limit;
  return await byIndex(sql, filter, most, async (tx, candidates) => {
    // Planning the statements of a page takes longer than running them.
    if (!plannedForValues.has(candidates.index.by)) await planOnce(tx);
    return await readPage(tx, filter, candidates);
  });
}

/** Which emails are read, by which index, and how many of them at most. `mostWeeks`: in so many weeks, each by a statement of its own. */
type Candidates = { index: Index; most: number; mostWeeks: number };

/** Emails of more weeks are read through the parent table, which then costs less than a statement for each week. */
const mostWeeks = 3;

/**
 * Reads by the index of the filter, whatever the statistics expect. They do not know a workspace that is new since the last ANALYZE, nor which
 * words are frequent: PostgreSQL then expects few rows, and reads and sorts all of them instead of the newest ones of an index.
 */
async function byIndex<T>(
  sql: Sql,
  filter: Omit<EmailFilter, "limit">,
  most: number,
  read: (sql: Sql, candidates: Candidates) => Promise<T>,
): Promise<T> {
  const run = async (weeks: number) =>
    await sql.begin(async (tx) => {
      await tx.unsafe("set local enable_seqscan = off; set local enable_bitmapscan = off");
      const index = await indexFor(tx, filter, most);
      // The queue has no index in the order of ids, so its few emails are sorted.
      await tx.unsafe(`set local enable_sort = ${index.by === "queue" ? "on" : "off"}`);
      return await read(tx, { index, most, mostWeeks: weeks });
    });
  try {
    return await run(mostWeeks);
  } catch (error) {
    // An index that has no partitions still has emails of a week that was dropped.
    if (!isMissingTable(error)) throw error;
    return await run(0);
  }
}

async function readPage(sql: Sql, filter: EmailFilter, candidates: Candidates): Promise<EmailList> {
  const { most } = candidates;
  const { limit, search } = filter;
  const rows: EmailRow[] = [];
  let { before } = filter;
  // The index of words may lead to emails that do not match, hence more than one turn.
  for (let left = most; left > 0; left -= limit) {
    const turn = await readCandidates(sql, { ...filter, before }, { ...candidates, most: search ? limit : most });
    rows.push(...turn.rows.filter((row) => search === undefined || isFound(row, search)));
    before = turn.resumeBefore;
    if (before === undefined || rows.length >= limit) break;
    if (!search) break;
  }
  if (rows.length >= limit) return { rows: rows.slice(0, limit), resumeBefore: undefined };
  return { rows, resumeBefore: before };
}

/** True if the email is the one that the search names, or has all its words. */
export function isFound(
  row: Pick<EmailRow, "id" | "subject" | "envelope" | "messageId">,
  { emailId, messageId, words }: EmailSearch,
): boolean {
  const { to, cc, bcc } = row.envelope;
  const addresses = [...to, ...cc, ...bcc].map(({ address }) => address);
  const isNamed = row.id === emailId || row.messageId.toLowerCase() === messageId;
  return isNamed || matches({ subject: row.subject, addresses }, words);
}

/** Reads at most `most` candidates, and returns those of them that meet the conditions, at most a page. */
async function readCandidates(sql: Sql, filter: EmailFilter, candidates: Candidates): Promise<EmailList> {
  const rows: EmailRow[] = [];
  let { before } = filter;
  // First as many candidates as the page has rows: without other conditions, they are the page. If most of them match, a few more complete it.
  for (let left = candidates.most, count = Math.min(filter.limit, left); left > 0; ) {
    const byAddress = candidates.index.by === "recipient";
    if (byAddress) await planEachTime(sql);
    const { ids, last } = await readIds(sql, { ...filter, before }, candidates.index, count);
    // The emails of an address may be of any week, so their statement has many tables to plan.
    if (byAddress) await planOnce(sql);
    for (const [week, some] of weeksOf(ids, candidates))
      if (rows.length < filter.limit)
        rows.push(...(await readRows(sql, unmet(filter, candidates), { ids: some, tables: tablesOf(sql, week) })));
    if (rows.length >= filter.limit)
      return { rows: rows.slice(0, filter.limit), resumeBefore: rows[filter.limit - 1]!.id };
    if (last === undefined) return { rows, resumeBefore: undefined };
    before = last;
    left -= count;
    count = Math.min(left, count * moreCandidates);
  }
  return { rows, resumeBefore: before };
}

/** The newest ids that the index gives. `last`: it may have more, older than this one. */
async function readIds(
  sql: Sql,
  filter: Omit<EmailFilter, "limit">,
  index: Index,
  most: number,
): Promise<{ ids: string[]; last: string | undefined }> {
  const { createdAfter, createdBefore } = filter;
  const candidates = candidatesOf(sql, filter, index, most);
  const hasTime = index.by === "id" || index.by === "key" || index.by === "domain";
  if (hasTime && (createdAfter || createdBefore)) {
    const rows = await sql<{ id: string; createdAt: Date }[]>`${candidates}`;
    const last = rows.length < most ? undefined : rows.at(-1)?.id;
    // Only some emails of early programs have another time than their id. The others of these minutes need not be read.
    return { ids: rows.filter((row) => isInTime(filter, row)).map(({ id }) => id), last };
  }
  const rows = await sql<{ id: string }[]>`
    select distinct id from (${candidates}) c order by id desc limit ${most}`;
  return { ids: rows.map(({ id }) => id), last: rows.length < most ? undefined : rows.at(-1)?.id };
}

function isInTime({ createdAfter, createdBefore }: Omit<EmailFilter, "limit">, { createdAt }: { createdAt: Date }) {
  return !(createdAfter && createdAt < createdAfter) && !(createdBefore && createdAt >= createdBefore);
}

/** Newest first. */
function weeksOf(ids: readonly string[], { mostWeeks }: Candidates): [week: Week, ids: readonly string[]][] {
  const weeks = byWeek(ids, (id) => id).reverse();
  return weeks.length > mostWeeks ? [[undefined, ids]] : weeks;
}

/** The filter without what every candidate of the index meets. */
function unmet<F extends Omit<EmailFilter, "limit">>(filter: F, { index }: Candidates): F {
  return index.by === "recipient" ? { ...filter, recipient: undefined } : filter;
}

type Emails = { ids: readonly string[]; tables: Tables };

async function readRows(sql: Sql, filter: EmailFilter, { ids, tables }: Emails): Promise<EmailRow[]> {
  return await sql<EmailRow[]>`
    select ${columns(sql, tables)} from ${theirEmails(sql, filter, { ids, tables })} order by c.id desc limit ${filter.limit}`;
}

/** The emails `e` with their counts `n` that meet the conditions. By primary key, one by one. */
function theirEmails(sql: Sql, filter: Omit<EmailFilter, "limit">, { ids, tables }: Emails) {
  return sql`unnest(${ids}::uuid[]) as c(id)
    cross join lateral (select * from ${tables("emails")} where workspace_id = ${filter.workspaceId} and id = c.id offset 0) e
    ${counts(sql, tables)} where true ${conditions(sql, filter, tables)}`;
}

/** An email of a search, or all emails with one outcome. */
export type FoundEmails = Pick<EmailRow, "id" | "subject" | "envelope" | "messageId"> & {
  outcome: Outcome;
  emails: number;
};

/** The outcomes of at most `most` emails that meet the conditions. `isCut`: the index leads to more. Emails of a search come one by one. */
export async function readFound(
  sql: Sql,
  filter: Omit<EmailFilter, "limit">,
  most: number,
): Promise<{ rows: FoundEmails[]; isCut: boolean }> {
  return await byIndex(sql, filter, most, (tx, candidates) => readFoundBy(tx, filter, candidates));
}

async function readFoundBy(
  sql: Sql,
  filter: Omit<EmailFilter, "limit">,
  candidates: Candidates,
): Promise<{ rows: FoundEmails[]; isCut: boolean }> {
  const { ids, last } = await readIds(sql, filter, candidates.index, candidates.most + 1);
  const isCut = last !== undefined;
  const rows: FoundEmails[] = [];
  for (const [week, some] of weeksOf(
    ids.filter((id) => id !== last),
    candidates,
  ))
    rows.push(...(await countFound(sql, unmet(filter, candidates), { ids: some, tables: tablesOf(sql, week) })));
  return { rows, isCut };
}

async function countFound(sql: Sql, filter: Omit<EmailFilter, "limit">, emails: Emails): Promise<FoundEmails[]> {
  const found = sql`
    select e.id, e.subject, e.envelope, e.message_id as "messageId", (select ${outcomeNow(sql)} from (select n.*) m) as outcome
    from ${theirEmails(sql, filter, emails)}`;
  return filter.search
    ? await sql<FoundEmails[]>`select f.*, 1 as emails from (${found}) f`
    : await sql<FoundEmails[]>`select outcome, count(*)::int as emails from (${found}) f group by outcome`;
}

/** What the list is read by, newest first. */
type Index =
  | { by: "email"; id: string | undefined; messageId: string | undefined }
  | { by: "recipient"; address: string }
  | { by: "terms"; terms: readonly bigint[] }
  | { by: "site"; term: bigint }
  | { by: "queue"; destination: string }
  | { by: "outcomes"; outcomes: readonly Outcome[] }
  | { by: "key"; keyId: string }
  | { by: "domain"; domain: string }
  | { by: "id" }
  | { by: "nothing" };

/** The index that is probably the most selective. `most`: so many candidates are read. */
async function indexFor(sql: Sql, filter: Omit<EmailFilter, "limit">, most: number): Promise<Index> {
  const { recipient, search, metadataKey, metadataValue, keyId, domain, destination, open, site } = filter;
  if (search?.words.length === 0) {
    const { emailId: id, messageId } = search;
    return id || messageId ? { by: "email", id, messageId } : { by: "nothing" };
  }
  if (recipient) return { by: "recipient", address: recipient };
  if (destination && open && (await isShortQueue(sql, filter.workspaceId, destination, most)))
    return { by: "queue", destination };
  const lists = search?.words.map(({ terms }) => terms) ?? [];
  if (metadataKey !== undefined && metadataValue !== undefined)
    lists.unshift([metadataTerm(metadataKey, metadataValue)]);
  const there = destination && destinationTerm(destination);
  if (there) lists.push([there]);
  const known = lists.length > 0 && (await isFinished(sql, termsOfEarlierEmails)) ? lists : [];
  const atSite = site && (await isFinished(sql, sitesOfEarlierEmails)) ? [siteTerm(site)] : undefined;
  if (known.length > 0) {
    const terms = await rarestOf(sql, filter, atSite ? [...known, atSite] : known);
    return terms === atSite ? { by: "site", term: atSite[0]! } : { by: "terms", terms };
  }
  const outcomes = await listedUnder(sql, filter);
  // A large site has far more emails than an outcome such as bounced.
  if (atSite && !(outcomes && (await isShortList(sql, filter, outcomes, most))))
    return { by: "site", term: atSite[0]! };
  if (outcomes) return { by: "outcomes", outcomes };
  if (keyId) return { by: "key", keyId };
  if (domain) return { by: "domain", domain };
  return { by: "id" };
}

/** The list of terms with the fewest emails, counted up to a limit. */
async function rarestOf(
  sql: Sql,
  filter: Omit<EmailFilter, "limit">,
  lists: readonly (readonly bigint[])[],
): Promise<readonly bigint[]> {
  if (lists.length === 1) return lists[0]!;
  const terms = lists.flatMap((list, place) => list.map((term) => ({ place: place + 1, term: String(term) })));
  const [rarest] = await sql<{ place: number }[]>`
    select t.place from unnest(${terms.map(({ place }) => place)}::int[], ${terms.map(({ term }) => term)}::bigint[]) as t(place, term)
    cross join lateral (select count(*) as emails from (select 1 from email_terms where workspace_id = ${filter.workspaceId} and term = t.term
      ${idRange(sql, filter, sql`email_id`)} limit ${mostCompared}) x) c
    group by t.place order by sum(c.emails), t.place limit 1`;
  return lists[rarest!.place - 1]!;
}

/** The index of the queue is in the order of due times, so it gives a page of emails only if it gives all of them. Index recipients_due. */
async function isShortQueue(sql: Sql, workspaceId: string, destination: string, most: number): Promise<boolean> {
  const [longer] = await sql`
    select 1 from recipients where destination = ${destination} and workspace_id = ${workspaceId} and status in ('queued', 'delayed')
    offset ${most} limit 1`;
  return longer === undefined;
}

/** True if at most `most` emails have these outcomes. Primary key of email_outcomes. */
async function isShortList(
  sql: Sql,
  filter: Omit<EmailFilter, "limit">,
  outcomes: readonly Outcome[],
  most: number,
): Promise<boolean> {
  const [longer] = await sql`
    select 1 from email_outcomes where workspace_id = ${filter.workspaceId} and outcome = any(${outcomes}::text[])
      ${idRange(sql, filter, sql`email_id`)} offset ${most} limit 1`;
  return longer === undefined;
}

async function isFinished(sql: Sql, { name }: Backfill): Promise<boolean> {
  return (await sql`select 1 from backfills where name = ${name} and finished_at is not null`).length > 0;
}

/** Outcomes by which the emails are listed, if that finds all of them: not before the emails of earlier programs are counted. */
async function listedUnder(
  sql: Sql,
  { status, outcomes, open }: Pick<EmailFilter, "status" | "outcomes" | "open">,
): Promise<readonly Outcome[] | undefined> {
  const wanted = outcomes ?? outcomesOf(open ? "queued" : status);
  if (!wanted?.every((outcome) => listedOutcomes.includes(outcome))) return undefined;
  return (await isFinished(sql, outcomesOfEarlierEmails)) ? wanted : undefined;
}

/** The outcomes that an email with this status can have. Undefined: others than those with a list. */
function outcomesOf(status: EmailState | undefined): readonly Outcome[] | undefined {
  if (status === "queued" || status === "processing") return listedOutcomes.filter((outcome) => outcome !== "canceled");
  if (status === "failed") return listedOutcomes.filter((outcome) => outcome !== "queued" && outcome !== "delayed");
  return undefined;
}

/** Two indexes have the order of ids. Which of them reads fewer rows depends on the values, and the queue is sorted. */
const plannedForValues: ReadonlySet<Index["by"]> = new Set(["recipient", "key", "domain", "queue"]);

type Fragment = ReturnType<typeof columns>;

/** The condition that an id is in the filter's range of time and on a later page. */
function idRange(sql: Sql, { before, createdAfter, createdBefore }: Omit<EmailFilter, "limit">, id: Fragment) {
  const from = createdAfter && idAt(createdAfter, -idSlackMs);
  const to = createdBefore && idAt(createdBefore, idSlackMs);
  return sql`${before ? sql`and ${id} < ${before}` : sql``} ${from ? sql`and ${id} >= ${from}` : sql``} ${to ? sql`and ${id} < ${to}` : sql``}`;
}

/** The ids that the index gives, the newest `most` of each of its lists. */
function candidatesOf(sql: Sql, filter: Omit<EmailFilter, "limit">, index: Index, most: number) {
  const { workspaceId } = filter;
  const inRange = (id: Fragment) => idRange(sql, filter, id);
  const newest = sql`order by id desc limit ${most}`;
  switch (index.by) {
    case "email":
      return sql`
        select id from emails where workspace_id = ${workspaceId} and id = ${index.id ?? null}::uuid ${inRange(sql`id`)}
        union all
        select email_id from email_message_ids where workspace_id = ${workspaceId} and message_id = ${index.messageId ?? null}
          ${inRange(sql`email_id`)}`;
    case "recipient":
      return sql`select distinct email_id as id from recipients where workspace_id = ${workspaceId} and lower(address) = lower(${index.address})
        ${inRange(sql`email_id`)} ${newest}`;
    case "queue":
      return sql`select distinct email_id as id from recipients where destination = ${index.destination} and workspace_id = ${workspaceId}
        and status in ('queued', 'delayed') ${inRange(sql`email_id`)} ${newest}`;
    case "outcomes":
      return sql`select l.id from unnest(${index.outcomes}::text[]) as o(outcome) cross join lateral (
        select email_id as id from email_outcomes where workspace_id = ${workspaceId} and outcome = o.outcome ${inRange(sql`email_id`)} ${newest}) l`;
    case "terms":
      return sql`
        select l.id from unnest(${index.terms.map(String)}::bigint[]) as f(term) cross join lateral (
          select email_id as id from email_terms where workspace_id = ${workspaceId} and term = f.term ${inRange(sql`email_id`)} ${newest}) l
        union all
        (select a.id from (select email_ids from email_arrivals where workspace_id = ${workspaceId} order by newest desc limit ${mostArrivals}) n
          cross join lateral unnest(n.email_ids) as a(id) where true ${inRange(sql`a.id`)} order by a.id desc limit ${most})`;
    case "site":
      // Emails are in the index of sites when the statistics count them. Those in email_arrivals would appear and disappear again.
      return sql`select email_id as id from email_terms where workspace_id = ${workspaceId} and term = ${String(index.term)}::bigint
        ${inRange(sql`email_id`)} ${newest}`;
    case "nothing":
      return sql`select null::uuid as id where false`;
    case "key":
      return sql`select id, created_at as "createdAt" from emails where workspace_id = ${workspaceId} and key_id = ${index.keyId} ${inRange(sql`id`)} ${newest}`;
    case "domain":
      return sql`select id, created_at as "createdAt" from emails where workspace_id = ${workspaceId} and domain = ${index.domain} ${inRange(sql`id`)} ${newest}`;
    case "id":
      return sql`select id, created_at as "createdAt" from emails where workspace_id = ${workspaceId} ${inRange(sql`id`)} ${newest}`;
  }
}
