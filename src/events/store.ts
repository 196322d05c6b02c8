/** `events` holds the event log of each workspace. Events are numbered 1, 2, 3 … in commit order without gaps, and written with the change
 * that they report. This file has the SQL. Parts: service.ts (ListEvents, StreamEvents), follower.ts (live streams), wire.ts (messages).
 * Next: follower.ts; delivery/store/settle.ts writes most events. */
import type { Sql } from "../postgres/pool.ts";

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

/** The numbers of the oldest and the newest event. In an empty log `oldest` is `last` + 1. */
export async function eventBounds(sql: Sql, workspaceId: string): Promise<{ oldest: bigint; last: bigint }> {
  const [row] = await sql<{ oldest: string; last: string }[]>`
    select oldest, last from event_counters where workspace_id = ${workspaceId}`;
  return { oldest: BigInt(row!.oldest), last: BigInt(row!.last) };
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

/** Events after a number, in order, and whether the page has all events of the requested range. Uses the primary key of events, or with an
 * email the index events_by_email. */
export async function readEventPage(sql: Sql, page: EventPage): Promise<{ events: StoredEvent[]; complete: boolean }> {
  const types = page.types && page.types.length > 0 ? sql`and type = any(${page.types as string[]}::text[])` : sql``;
  const email = page.emailId ? sql`and email_id = ${page.emailId}` : sql``;
  const upTo = page.upTo === undefined ? sql`` : sql`and number <= ${page.upTo.toString()}`;
  const rows = await sql<(StoredEvent & { found: number })[]>`
    select ${columns(sql)}, found from (
      select *, count(*) over ()::int as found, sum(pg_column_size(payload)) over (order by number) - pg_column_size(payload) as before
      from (select * from events where workspace_id = ${page.workspaceId} and number > ${page.after.toString()}
        ${upTo} ${types} ${email} order by number limit ${page.limit + 1}) page) sized
    where before < ${pageBytes} order by number limit ${page.limit}`;
  return { events: rows.map(({ found: _, ...event }) => event), complete: rows.length === (rows[0]?.found ?? 0) };
}

/**
 * New events of many workspaces in one statement: for each workspace at most `limit` events after the known number, and
 * the number of its newest event.
 */
export async function readNewEvents(
  sql: Sql,
  known: readonly { workspaceId: string; after: bigint }[],
  limit: number,
): Promise<(StoredEvent & { workspaceId: string; last: string })[]> {
  return await sql<(StoredEvent & { workspaceId: string; last: string })[]>`
    select k.workspace_id as "workspaceId", c.last, e.* from unnest(
      ${known.map((k) => k.workspaceId)}::uuid[], ${known.map((k) => k.after.toString())}::bigint[]) as k(workspace_id, after)
    join event_counters c on c.workspace_id = k.workspace_id and c.last > k.after
    cross join lateral (
      select ${columns(sql)} from (
        select *, sum(pg_column_size(payload)) over (order by number) - pg_column_size(payload) as before from (
          select * from events where workspace_id = k.workspace_id and number > k.after order by number limit ${limit}) page) sized
      where before < ${pageBytes}) e
    order by k.workspace_id, e.number`;
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
