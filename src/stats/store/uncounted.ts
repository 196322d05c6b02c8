/** Reads what is not counted yet: events after the mark by number, and emails after the mark by id. Called by fold.ts. */

import { systemKeyId } from "../../keys/store.ts";
import { firstUuidAt, uuidTime } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { constant } from "../../postgres/sql.ts";
import { inWeek, oneRow, type Tables, weekAt } from "../../postgres/weeks.ts";
import { countedTypes, type EventGroup, liveDimension, longestValue, otherValues, timeBounds } from "../rules.ts";

const hourMs = 3_600_000;
/** An email is usually committed within this time after its id is made; younger ids are not counted yet. */
export const emailLagMs = 4_000;
/** All emails of an hour are committed by this time after its end, so it is counted once more then. */
const recountAfterMs = hourMs;

export type CountLimits = {
  nowMs: number;
  /** The most workspaces in one fold. */
  workspaces: number;
  /** The most events, and the most emails, of each workspace. */
  rows: number;
};

/** How far a workspace is counted. */
export type Mark = { workspaceId: string; eventsTo: string; emailsTo: string; recountedTo: Date };

export type HourKey = { workspaceId: string; hourMs: number };
/** `dimension` is empty for the whole workspace. Each event and email is in several dimensions, with one value in each. */
export type GroupKey = HourKey & { dimension: string; value: string };
/** `emailIds`: the email of each event, in the dimension of the whole workspace if the events name a server. */
export type UncountedEvents = GroupKey & EventGroup & { rows: number; upTo: string; emailIds: string[] | null };
/** `rows` includes mail of the service itself, which is not counted. */
export type UncountedEmails = GroupKey & { rows: number; emails: number; recipients: number; upTo: string };

/** The start of the first hour that may still get late emails. */
export function openFromMs(nowMs: number): number {
  return Math.floor((nowMs - recountAfterMs) / hourMs) * hourMs;
}

/** Nodes read the clock at different moments. A mark that is further ahead was set before the clock went back. */
const aheadMs = 60_000;

/** The first id that is too far ahead for a mark of emails. */
const firstAhead = (nowMs: number) => firstUuidAt(nowMs + aheadMs);

/** Whether the clock went back since this mark moved. New emails then have smaller ids, which the mark would skip. */
export function isAhead(mark: Mark, nowMs: number): boolean {
  return mark.emailsTo >= firstAhead(nowMs);
}

/** The mark for a clock that went back: emails count from now on, and those of the open hours when their hours close. */
export function setBack(mark: Mark, nowMs: number): Mark {
  const recountedTo = new Date(Math.min(mark.recountedTo.getTime(), openFromMs(nowMs)));
  return { ...mark, emailsTo: firstUuidAt(nowMs - emailLagMs), recountedTo };
}

/** The end of the hour of the last counted email. */
export function countedHourEnd(mark: Mark): number {
  return Math.floor(uuidTime(mark.emailsTo) / hourMs + 1) * hourMs;
}

/**
 * Locks the marks of workspaces that have something to count, skipping those locked by other nodes. Probes the primary
 * key of emails once per workspace. `events_at` is the service time of the last fold, so that workspaces take turns.
 */
export async function lockMarks(tx: Sql, limits: CountLimits): Promise<Mark[]> {
  return await tx<Mark[]>`
    select m.workspace_id as "workspaceId", m.events_to as "eventsTo", m.emails_to as "emailsTo",
      m.recounted_to as "recountedTo"
    from stats_marks m join event_counters c using (workspace_id)
    where greatest(m.events_to, c.oldest - 1) < c.last or m.emails_to >= ${firstAhead(limits.nowMs)}::uuid
      or exists (select 1 from emails e where e.workspace_id = m.workspace_id and e.id > m.emails_to
        and e.id < ${firstUuidAt(limits.nowMs - emailLagMs)}::uuid)
      or exists (select 1 from emails e where e.workspace_id = m.workspace_id and e.id >= ${firstUuidOf(tx`m.recounted_to`, tx)}
        and e.id < ${firstUuidAt(openFromMs(limits.nowMs))}::uuid)
    order by m.events_at limit ${limits.workspaces} for update of m skip locked`;
}

/** The smallest UUIDv7 of a time, like `firstUuidAt` in postgres/ids.ts. */
function firstUuidOf(time: ReturnType<Sql>, sql: Sql) {
  return sql`(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`;
}

/**
 * Event numbers follow commit order, so a reader that sees one sees all before it. Primary keys of events and emails; for a complaint also
 * recipients_by_address, because only the recipient's row names the server. Reports such as "not spam" are no complaints, as in quotas/.
 */
export async function readUncountedEvents(
  tx: Sql,
  marks: readonly Mark[],
  { rows: limit, nowMs }: Pick<CountLimits, "rows" | "nowMs">,
): Promise<UncountedEvents[]> {
  const read = (own: Sql, tables: Tables) => readEvents(own, { marks, limit, tables });
  return await inWeek(tx, weekAt(nowMs), read, { inTransaction: true });
}

type EventRange = { marks: readonly Mark[]; limit: number; tables: Tables };

async function readEvents(tx: Sql, { marks, limit, tables }: EventRange): Promise<UncountedEvents[]> {
  const types = tx`${countedTypes as string[]}::text[]`;
  const email = oneRow(tx, {
    tables,
    table: "emails",
    columns: tx`domain, key_id, metadata, test, created_at, scheduled_at`,
    condition: tx`n.type = any(${types}) and workspace_id = n.workspace_id and id = n.email_id`,
  });
  const recipient = oneRow(tx, {
    tables,
    table: "recipients",
    columns: tx`remote_mx`,
    condition: tx`n.complainant is not null and workspace_id = n.workspace_id and email_id = n.email_id
      and lower(address) = lower(n.complainant)`,
  });
  return await tx<UncountedEvents[]>`
    with uncounted as materialized (
      select k.workspace_id, coalesce(s.metadata_keys, '{}') as metadata_keys, e.*
      -- Sub-selects, because a plan for known arrays looks cheaper than a kept one, and planning takes longer than the statement.
      from unnest((select ${marks.map((m) => m.workspaceId)}::uuid[]), (select ${marks.map((m) => m.eventsTo)}::bigint[])) as k(workspace_id, after)
      left join stats_settings s on s.workspace_id = k.workspace_id, lateral (
        select number, type, email_id, created_at, case when type = any(${types}) then payload ->> 'remoteMx' end as mx,
          case when type = 'email.complained' then payload #>> '{recipients,0}' end as complainant,
          type = 'email.complained' and coalesce(payload ->> 'feedbackType', '') not in ('', 'abuse', 'fraud', 'virus', 'other') as harmless,
          case when type = any(${types}) then jsonb_array_length(payload -> 'recipients') end as recipients
        from events where workspace_id = k.workspace_id and number > k.after
        order by number limit ${constant(tx, limit)}) e
    )
    select n.workspace_id as "workspaceId", (floor(extract(epoch from n.created_at) / 3600) * ${hourMs})::float8 as "hourMs",
      case when m.key_id = ${systemKeyId} or n.harmless then 'system' else n.type end as type, d.dimension, d.value, d.mx as "remoteMx",
      coalesce(sum(n.recipients), 0)::int as recipients, count(*)::int as rows, max(n.number) as "upTo", d.time_bucket as "timeBucket",
      array_agg(n.email_id) filter (where d.mx <> '' and m.domain is not null) as "emailIds"
    from uncounted n left join lateral (
      select e.domain, e.key_id, e.metadata, e.test, case when n.type in ('email.delivered', 'email.sent') then
          width_bucket((extract(epoch from n.created_at - greatest(e.created_at, e.scheduled_at)) * 1000)::float8, ${timeBounds as number[]}::float8[]) end as time_bucket
      from (${email}) e) m on true
    left join lateral (${recipient}) r on true
    cross join lateral (
      select '' as dimension, '' as value, coalesce(n.mx, r.remote_mx) as mx, m.time_bucket
      union all select g.*, null, null from (${groupsOf(tx)}) g where m.domain is not null) d
    group by n.workspace_id, "hourMs", 3, d.dimension, d.value, d.mx, d.time_bucket`;
}

/** The groups of the email `m` with the workspace's metadata keys `n.metadata_keys`. */
function groupsOf(tx: Sql) {
  return tx`
    select ${liveDimension} as dimension, '=' as value where not m.test
    union all select 'domain', '=' || m.domain
    union all select 'key', '=' || coalesce(m.key_id::text, '')
    union all select 'metadata:' || name, case when length(m.metadata ->> name) > ${longestValue} then ${otherValues} else '=' || (m.metadata ->> name) end
    from unnest(n.metadata_keys) as name where m.metadata ? name`;
}

/** In the order of their ids, which contain their time. Primary key. */
export async function readUncountedEmails(
  tx: Sql,
  marks: readonly Mark[],
  range: { after(mark: Mark): string; beforeMs: number; limit: number },
): Promise<UncountedEmails[]> {
  const isCounted = tx`m.key_id is distinct from ${systemKeyId}`;
  return await tx<UncountedEmails[]>`
    select n.workspace_id as "workspaceId", d.dimension, d.value, count(*)::int as rows, count(*) filter (where ${isCounted})::int as emails,
      coalesce(sum(m.total) filter (where ${isCounted}), 0)::int as recipients, max(m.id::text) as "upTo",
      (floor(('x' || translate(left(m.id::text, 13), '-', ''))::bit(48)::bigint / ${hourMs}) * ${hourMs})::float8 as "hourMs"
    from (select k.*, coalesce(s.metadata_keys, '{}') as metadata_keys
      from unnest(${marks.map((m) => m.workspaceId)}::uuid[], ${marks.map((m) => range.after(m))}::uuid[]) as k(workspace_id, after)
      left join stats_settings s on s.workspace_id = k.workspace_id) n, lateral (
      select id, total, domain, key_id, metadata, test from emails where workspace_id = n.workspace_id and id > n.after
        and id < ${firstUuidAt(range.beforeMs)}::uuid order by id limit ${constant(tx, range.limit)}) m
    cross join lateral (
      select '' as dimension, '' as value union all select g.* from (${groupsOf(tx)}) g where ${isCounted}) d
    group by n.workspace_id, "hourMs", d.dimension, d.value`;
}

/**
 * Counts all emails of the hours that closed since the last recount. This finds emails that were committed long after
 * their id was made and were skipped before. It reads page by page, so that each statement stays short.
 */
export async function recountEmails(
  tx: Sql,
  marks: readonly Mark[],
  limits: Pick<CountLimits, "rows"> & { beforeMs: number },
): Promise<UncountedEmails[]> {
  const hours = new Map<string, Map<string, UncountedEmails>>();
  const reached = new Map(marks.map((mark) => [mark, firstUuidAt(mark.recountedTo.getTime())]));
  const after = (mark: Mark) => reached.get(mark)!;
  const range = { after, beforeMs: limits.beforeMs, limit: limits.rows };
  for (let left = marks; left.length > 0; ) {
    const page = await readUncountedEmails(tx, left, range);
    for (const part of page) {
      const key = JSON.stringify([part.workspaceId, part.hourMs, part.dimension]);
      const values = hours.get(key) ?? new Map<string, UncountedEmails>();
      hours.set(key, values);
      addTo(values, part.value, part);
      if (values.size > mostValues) foldSmallest(values);
    }
    for (const mark of left) reached.set(mark, lastEmail(page, mark) ?? reached.get(mark)!);
    left = left.filter((mark) => sumEmails(page, mark) >= limits.rows);
  }
  return [...hours.values()].flatMap((values) => [...values.values()]);
}

/** The values of one hour and dimension that a recount holds in memory: a tenant may have a different one for each email. */
const mostValues = 2_000;

function addTo(values: Map<string, UncountedEmails>, value: string, part: UncountedEmails): void {
  const { emails = 0, recipients = 0 } = values.get(value) ?? {};
  values.set(value, { ...part, value, emails: emails + part.emails, recipients: recipients + part.recipients });
}

/** Counts the smaller half of the values as one, the other values. */
function foldSmallest(values: Map<string, UncountedEmails>): void {
  const bySize = [...values.values()].filter(({ value }) => value !== otherValues);
  for (const part of bySize.sort((a, b) => b.recipients - a.recipients).slice(mostValues / 2)) {
    values.delete(part.value);
    addTo(values, otherValues, part);
  }
}

/** Each email is in one row of the whole workspace. */
export function sumEmails(found: readonly UncountedEmails[], mark: Mark): number {
  return sumRows(ofWorkspace(found, mark));
}

export function sumRows(found: readonly (UncountedEmails | UncountedEvents)[]): number {
  return found.reduce((sum, { dimension, rows }) => sum + (dimension === "" ? rows : 0), 0);
}

export function lastEmail(found: readonly UncountedEmails[], mark: Mark): string | undefined {
  return ofWorkspace(found, mark)
    .map(({ upTo }) => upTo)
    .sort()
    .at(-1);
}

export function ofWorkspace<T extends HourKey>(found: readonly T[], { workspaceId }: Mark): T[] {
  return found.filter((one) => one.workspaceId === workspaceId);
}
