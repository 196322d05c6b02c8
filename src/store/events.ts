/** The event log of a workspace: numbered 1, 2, 3 … in commit order, without a gap. Written with the change that it reports, read by number. */
import type { Sql } from "./db.ts";

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

/** For changes that touch one workspace: called in the transaction of the change, after its own rows are locked (see settle.ts for the order). */
export async function appendEvent(sql: Sql, event: NewEvent): Promise<void> {
  await sql`
    with bump as (update event_counters set last = last + 1 where workspace_id = ${event.workspaceId} returning last)
    insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select ${event.workspaceId}, last, ${event.id}, ${event.type}, ${event.email?.id ?? null}::uuid, ${event.email?.messageId ?? null}::text,
      ${JSON.stringify(event.email?.metadata ?? {})}::text::jsonb, ${JSON.stringify(event.payload)}::text::jsonb, clock_timestamp() from bump`;
}

/** The oldest number still kept and the newest given; `oldest` is one past `last` in an empty log. */
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

/** A page is cut where its payloads reach this size, though never before its first event: inbound mail can be large. */
const pageBytes = 256 * 1024;

/** Events after a number, in order. */
export async function readEvents(sql: Sql, page: EventPage): Promise<StoredEvent[]> {
  return (await readEventPage(sql, page)).events;
}

/** The same, and whether that is all there is in the range asked for. Primary key of events; with an email, index events_by_email. */
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
 * New events of many workspaces in one statement: for each, those after the number already known, at most `limit`, and
 * the newest number there is.
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
