/** `events` holds the event log of each workspace. Events are numbered 1, 2, 3 … in commit order without gaps, and written with the change
 * that they report. This file has the SQL. Parts: service.ts (ListEvents, StreamEvents), follower.ts (live streams), wire.ts (messages).
 * Next: follower.ts; delivery/store/settle.ts writes most events. */
import type { Sql } from "../postgres/pool.ts";
import type { Cuts } from "./rules.ts";

export type StoredEvent = {
  number: string;
  id: string;
  type: string;
  emailId: string | null;
  messageId: string | null;
  metadata: Record<string, string>;
  payload: Record<string, unknown>;
  createdAt: Date;
};

export type NewEvent = {
  id: string;
  workspaceId: string;
  type: string;
  payload: Record<string, unknown>;
  email?: { id: string; messageId: string; metadata: Record<string, string> };
};

/** Appends one event. Call it in the transaction of the change, after locking the changed rows (delivery/store/settle.ts has the order). */
export async function appendEvent(sql: Sql, event: NewEvent): Promise<void> {
  await sql`
    with bump as (update event_counters set last = last + 1 where workspace_id = ${event.workspaceId} returning last)
    insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select ${event.workspaceId}, last, ${event.id}, ${event.type}, ${event.email?.id ?? null}::uuid, ${event.email?.messageId ?? null}::text,
      ${JSON.stringify(event.email?.metadata ?? {})}::text::jsonb, ${JSON.stringify(event.payload)}::text::jsonb, (select stamp_time()) from bump`;
}

/** The range of a log. In an empty log `oldest` is `last` + 1. */
export type LogBounds = { oldest: bigint; last: bigint; cuts: Cuts };

export async function eventBounds(sql: Sql, workspaceId: string): Promise<LogBounds> {
  const [row] = await sql<
    BoundsRow[]
  >`select oldest, last, cuts from event_counters where workspace_id = ${workspaceId}`;
  return boundsOf(row!);
}

/** Also the id of the newest event; undefined in an empty log. Primary keys. */
export async function eventBoundsAndLastId(
  sql: Sql,
  workspaceId: string,
): Promise<LogBounds & { lastId: string | undefined }> {
  const [row] = await sql<(BoundsRow & { lastId: string | null })[]>`
    select oldest, last, cuts, (select id from events e where e.workspace_id = c.workspace_id and e.number = c.last) as "lastId"
    from event_counters c where workspace_id = ${workspaceId}`;
  return { ...boundsOf(row!), lastId: row!.lastId ?? undefined };
}

type BoundsRow = { oldest: string; last: string; cuts: string[] };

function boundsOf({ oldest, last, cuts }: BoundsRow): LogBounds {
  return { oldest: BigInt(oldest), last: BigInt(last), cuts };
}

/** The id of the event with this number; undefined if it is not stored. Primary key. */
export async function eventIdAt(sql: Sql, workspaceId: string, number: bigint): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from events where workspace_id = ${workspaceId} and number = ${number.toString()}`;
  return row?.id;
}

/**
 * The newest event that is older than this time, assuming that events are stored in the order of their times; `oldest` - 1 if there is none.
 * A binary search by primary key: there is no index by time.
 */
export async function lastEventBefore(sql: Sql, workspaceId: string, time: Date, bounds: LogBounds): Promise<bigint> {
  const [row] = await sql<{ known: string }[]>`
    with recursive search(known, stop) as (
      select ${(bounds.oldest - 1n).toString()}::bigint, ${(bounds.last + 1n).toString()}::bigint
      union all
      select case when is_younger then known else middle end, case when is_younger then middle else stop end
      from (select known, stop, (known + stop) / 2 as middle from search where stop - known > 1) s cross join lateral (
        select coalesce((select created_at >= ${time} from events where workspace_id = ${workspaceId} and number = s.middle), false) as is_younger) e
    )
    select max(known) as known from search`;
  return BigInt(row!.known);
}

/** The newest of these events that the log still has; undefined if it has none of them. Primary key. */
export async function newestStored(
  sql: Sql,
  workspaceId: string,
  events: readonly { number: string; id: string }[],
): Promise<bigint | undefined> {
  const [row] = await sql<{ number: string | null }[]>`
    select max(k.number) as number from unnest(${events.map((e) => e.number)}::bigint[], ${events.map((e) => e.id)}::uuid[]) as k(number, id)
    cross join lateral (select id from events e where e.workspace_id = ${workspaceId} and e.number = k.number limit 1) e where e.id = k.id`;
  return row?.number == null ? undefined : BigInt(row.number);
}

/** Records that the log of one workspace was cut after this number. The letters make the name of the cut unique. */
export async function cutLog(sql: Sql, workspaceId: string, shared: bigint, letters: string): Promise<void> {
  await sql`update event_counters set cuts = cuts || ${`${shared}${letters}`}::text where workspace_id = ${workspaceId}`;
}

export type EventFilter = { types?: readonly string[]; emailId?: string };

export type EventPage = EventFilter & {
  workspaceId: string;
  after: bigint;
  upTo?: bigint;
  limit: number;
};

/** A page ends when its payloads reach this size, but has at least one event: inbound mail can be large. */
const pageBytes = 256 * 1024;

export type ReadPage = {
  events: StoredEvent[];
  /** Whether the page has all events of the requested range. */
  complete: boolean;
  /** The bounds and the cuts of the log in the same snapshot. */
  bounds: LogBounds;
};

/** Events after a number, in order. Uses the primary key of events, or with an email the index events_by_email. */
export async function readEventPage(sql: Sql, page: EventPage): Promise<ReadPage> {
  const types = page.types && page.types.length > 0 ? sql`and type = any(${page.types as string[]}::text[])` : sql``;
  const email = page.emailId ? sql`and email_id = ${page.emailId}` : sql``;
  const upTo = page.upTo === undefined ? sql`` : sql`and number <= ${page.upTo.toString()}`;
  const rows = await sql<(StoredEvent & { found: number | null } & BoundsRow)[]>`
    select c.oldest, c.last, c.cuts, e.* from event_counters c left join lateral (
      select ${columns(sql)}, found from (
        select *, count(*) over ()::int as found, sum(pg_column_size(payload)) over (order by number) - pg_column_size(payload) as before
        from (select * from events where workspace_id = ${page.workspaceId} and number > ${page.after.toString()}
          ${upTo} ${types} ${email} order by number limit ${page.limit + 1}) page) sized
      where before < ${pageBytes} order by number limit ${page.limit}) e on true
    where c.workspace_id = ${page.workspaceId} order by e.number`;
  const found = rows[0]!.found ?? 0;
  const events =
    found === 0 ? [] : rows.map(({ found: _, oldest: _oldest, last: _last, cuts: _cuts, ...event }) => event);
  return { events, complete: events.length === found, bounds: boundsOf(rows[0]!) };
}

/** A log as a node knows it: its newest event and its cuts. */
export type KnownLog = { workspaceId: string; after: bigint; afterId: string | undefined; cuts: Cuts };

export type NewEvents = {
  workspaceId: string;
  /** The number of the newest event, which the list need not reach. */
  last: bigint;
  cuts: Cuts;
  events: StoredEvent[];
  /** The event at the known number is missing or is another one: the database was restored without a trace. */
  wentBack: boolean;
};

/** New events of many workspaces in one statement: for each log that has changed, at most `limit` events after the known number. */
export async function readNewEvents(sql: Sql, known: readonly KnownLog[], limit: number): Promise<NewEvents[]> {
  const rows = await sql<(StoredEvent & { workspaceId: string; last: string; cuts: string[] })[]>`
    select k.workspace_id as "workspaceId", c.last, c.cuts, e.* from unnest(
      ${known.map((k) => k.workspaceId)}::uuid[], ${known.map((k) => k.after.toString())}::bigint[],
      ${known.map((k) => k.cuts.at(-1) ?? "")}::text[]) as k(workspace_id, after, cut)
    join event_counters c on c.workspace_id = k.workspace_id
      and (c.last <> k.after or coalesce(c.cuts[cardinality(c.cuts)], '') <> k.cut)
    left join lateral (
      select ${columns(sql)} from (
        select *, sum(pg_column_size(payload)) over (order by number) - pg_column_size(payload) as before from (
          -- With the known event itself, to see that it is still there.
          select * from events where workspace_id = k.workspace_id and number >= k.after order by number limit ${limit + 1}) page) sized
      where before < ${pageBytes}) e on true
    order by k.workspace_id, e.number`;
  const logs = new Map(known.map((log) => [log.workspaceId, log]));
  const found = new Map<string, NewEvents>();
  for (const { workspaceId, last, cuts, ...event } of rows) {
    const { after, afterId } = logs.get(workspaceId)!;
    const log = found.get(workspaceId) ?? {
      workspaceId,
      last: BigInt(last),
      cuts,
      events: [],
      wentBack: BigInt(last) < after,
    };
    found.set(workspaceId, log);
    if (event.number === null) continue;
    if (BigInt(event.number) > after) log.events.push(event);
    else if (afterId !== undefined && event.id !== afterId) log.wentBack = true;
  }
  return [...found.values()];
}

function columns(sql: Sql) {
  return sql`number, id, type, email_id as "emailId", message_id as "messageId", metadata, payload, created_at as "createdAt"`;
}

/** Primary key of emails. */
export async function emailExists(sql: Sql, workspaceId: string, emailId: string): Promise<boolean> {
  return (await sql`select 1 from emails where workspace_id = ${workspaceId} and id = ${emailId}`).length > 0;
}

/** The approximate size of an event in characters. Only the text of inbound mail makes an event large. */
export function weightOf({ payload }: StoredEvent): number {
  return Object.values(payload).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 50),
    300,
  );
}
