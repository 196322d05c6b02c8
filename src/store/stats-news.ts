/** What there is to count: events after the last one counted, by number, and emails after the last one, by id. Read by the fold. */
import { countedTypes, type EventGroup } from "../rules/stats.ts";
import { timeBounds } from "../rules/stats-times.ts";
import type { Sql } from "./db.ts";
import { firstUuidAt } from "./ids.ts";

const hourMs = 3_600_000;
/** An id is made this long, and seldom longer, before its email is committed. */
export const emailLagMs = 4_000;
/** Surely all emails of an hour are committed when it ended this long ago: they are counted once more then. */
const recountAfterMs = hourMs;

export type Limits = {
  nowMs: number;
  /** Workspaces counted at once. */
  workspaces: number;
  /** Events, and emails, of each. */
  rows: number;
};

export type Mark = { workspaceId: string; eventsTo: string; eventsAt: Date; emailsTo: string; recountedTo: Date };

export type Place = { workspaceId: string; hourMs: number };
export type NewEvents = Place & EventGroup & { rows: number; upTo: string; lastAt: Date };
export type NewEmails = Place & { emails: number; recipients: number; upTo: string };

/** Hours before this one are closed to late emails. */
export function openFromMs(nowMs: number): number {
  return Math.floor((nowMs - recountAfterMs) / hourMs) * hourMs;
}

/** Locks the marks of workspaces with anything to count that no other node holds. Emails by primary key, a probe for each workspace. */
export async function takeMarks(tx: Sql, limits: Limits): Promise<Mark[]> {
  return await tx<Mark[]>`
    select m.workspace_id as "workspaceId", m.events_to as "eventsTo", m.events_at as "eventsAt", m.emails_to as "emailsTo",
      m.recounted_to as "recountedTo"
    from stats_marks m join event_counters c using (workspace_id)
    where greatest(m.events_to, c.oldest - 1) < c.last
      or exists (select 1 from emails e where e.workspace_id = m.workspace_id and e.id > m.emails_to
        and e.id < ${firstUuidAt(limits.nowMs - emailLagMs)}::uuid)
      or exists (select 1 from emails e where e.workspace_id = m.workspace_id and e.id >= ${firstUuidOf(tx`m.recounted_to`, tx)}
        and e.id < ${firstUuidAt(openFromMs(limits.nowMs))}::uuid)
    order by m.events_at limit ${limits.workspaces} for update of m skip locked`;
}

/** As ids.ts makes it: the smallest UUIDv7 of a moment. */
function firstUuidOf(moment: ReturnType<Sql>, sql: Sql) {
  return sql`(lpad(to_hex((extract(epoch from ${moment}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`;
}

/** Numbers are given in commit order, so who sees one sees all before it. Primary keys: of events, and of emails for deliveries. */
export async function readNewEvents(tx: Sql, marks: readonly Mark[], limit: number): Promise<NewEvents[]> {
  const types = tx`${countedTypes as string[]}::text[]`;
  return await tx<NewEvents[]>`
    with news as materialized (
      select k.workspace_id, e.* from unnest(${marks.map((m) => m.workspaceId)}::uuid[], ${marks.map((m) => m.eventsTo)}::bigint[],
        ${marks.map((m) => m.eventsAt)}::timestamptz[]) as k(workspace_id, after, since), lateral (
        select number, type, email_id, created_at, case when type = any(${types}) then payload ->> 'remoteMx' end as mx,
          case when type = any(${types}) then jsonb_array_length(payload -> 'recipients') end as recipients
        from events where workspace_id = k.workspace_id and number > k.after and created_at >= k.since - interval '1 day'
        order by number limit ${limit}) e
    )
    select n.workspace_id as "workspaceId", (floor(extract(epoch from n.created_at) / 3600) * ${hourMs})::float8 as "hourMs", n.type,
      n.mx as "remoteMx", coalesce(sum(n.recipients), 0)::int as recipients, count(*)::int as rows, max(n.number) as "upTo",
      width_bucket((extract(epoch from n.created_at - m.due_at) * 1000)::float8, ${timeBounds as number[]}::float8[]) as "timeBucket",
      max(n.created_at) as "lastAt"
    from news n left join lateral (
      select greatest(e.created_at, e.scheduled_at) as due_at from emails e
      where n.type in ('email.delivered', 'email.sent') and e.workspace_id = n.workspace_id and e.id = n.email_id limit 1) m on true
    group by n.workspace_id, "hourMs", n.type, n.mx, "timeBucket"`;
}

/** In the order of their ids, which carry their time. Primary key. */
export async function readNewEmails(
  tx: Sql,
  marks: readonly Mark[],
  range: { after(mark: Mark): string; beforeMs: number; limit: number },
): Promise<NewEmails[]> {
  return await tx<NewEmails[]>`
    select k.workspace_id as "workspaceId", count(*)::int as emails, sum(e.total)::int as recipients, max(e.id::text) as "upTo",
      (floor(('x' || translate(left(e.id::text, 13), '-', ''))::bit(48)::bigint / ${hourMs}) * ${hourMs})::float8 as "hourMs"
    from unnest(${marks.map((m) => m.workspaceId)}::uuid[], ${marks.map((m) => range.after(m))}::uuid[]) as k(workspace_id, after), lateral (
      select id, total from emails where workspace_id = k.workspace_id and id > k.after and id < ${firstUuidAt(range.beforeMs)}::uuid
      order by id limit ${range.limit}) e
    group by k.workspace_id, "hourMs"`;
}

/**
 * All emails of the hours that have closed since the last time. One that was committed long after its id was made may have been
 * passed over; here it is found. Page by page, so that no statement is long.
 */
export async function recountEmails(tx: Sql, marks: readonly Mark[], limits: Limits): Promise<NewEmails[]> {
  const hours = new Map<string, NewEmails>();
  const reached = new Map(marks.map((mark) => [mark, firstUuidAt(mark.recountedTo.getTime())]));
  const after = (mark: Mark) => reached.get(mark)!;
  const range = { after, beforeMs: openFromMs(limits.nowMs), limit: limits.rows };
  for (let left = marks; left.length > 0; ) {
    const page = await readNewEmails(tx, left, range);
    for (const part of page) {
      const key = `${part.workspaceId} ${part.hourMs}`;
      const { emails = 0, recipients = 0 } = hours.get(key) ?? {};
      hours.set(key, { ...part, emails: emails + part.emails, recipients: recipients + part.recipients });
    }
    for (const mark of left) reached.set(mark, lastEmail(page, mark) ?? reached.get(mark)!);
    left = left.filter((mark) => countEmails(page, mark) >= limits.rows);
  }
  return [...hours.values()];
}

export function countEmails(found: readonly NewEmails[], mark: Mark): number {
  return of(found, mark).reduce((sum, { emails }) => sum + emails, 0);
}

export function lastEmail(found: readonly NewEmails[], mark: Mark): string | undefined {
  return of(found, mark)
    .map(({ upTo }) => upTo)
    .sort()
    .at(-1);
}

/** Those of one workspace. */
export function of<T extends Place>(found: readonly T[], { workspaceId }: Mark): T[] {
  return found.filter((one) => one.workspaceId === workspaceId);
}
