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

/**
 * Events after a number, in order. `since` is the time of an event already read: partitions before it are not looked at.
 * Primary key of events; with an email, index events_by_email.
 */
export async function readEvents(
  sql: Sql,
  page: EventFilter & { workspaceId: string; after: bigint; limit: number; since?: Date },
): Promise<StoredEvent[]> {
  const types = page.types && page.types.length > 0 ? sql`and type = any(${page.types as string[]}::text[])` : sql``;
  const email = page.emailId ? sql`and email_id = ${page.emailId}` : sql``;
  const since = page.since ? sql`and created_at >= ${page.since}::timestamptz - interval '1 minute'` : sql``;
  return await sql<StoredEvent[]>`
    select number, id, type, email_id as "emailId", message_id as "messageId", metadata, payload, created_at as "createdAt"
    from events where workspace_id = ${page.workspaceId} and number > ${page.after.toString()} ${types} ${email} ${since}
    order by number limit ${page.limit}`;
}

/** New events of many workspaces in one statement: for each, those after the number already known, at most `limit`. */
export async function readNewEvents(
  sql: Sql,
  known: readonly { workspaceId: string; after: bigint }[],
  limit: number,
): Promise<(StoredEvent & { workspaceId: string })[]> {
  return await sql<(StoredEvent & { workspaceId: string })[]>`
    select k.workspace_id as "workspaceId", e.* from unnest(
      ${known.map((k) => k.workspaceId)}::uuid[], ${known.map((k) => k.after.toString())}::bigint[]) as k(workspace_id, after)
    join event_counters c on c.workspace_id = k.workspace_id and c.last > k.after
    cross join lateral (
      select number, id, type, email_id as "emailId", message_id as "messageId", metadata, payload, created_at as "createdAt"
      from events where workspace_id = k.workspace_id and number > k.after order by number limit ${limit}) e
    order by k.workspace_id, e.number`;
}
