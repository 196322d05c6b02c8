/** Turns events into deliveries: each webhook has the number of the last event that it has read, and gets a delivery for every later event
 * of its types. Called by ../loop.ts. */

import type { StoredEvent } from "../../events/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { constant } from "../../postgres/sql.ts";
import { type LeasedDelivery, type LeasedEventColumns, leasedEvent, whatFits } from "./lease.ts";
import { sealedSecrets, type WebhookSigner } from "./webhooks.ts";

/** How many events of their types webhooks may read, and how many deliveries of them are leased at once: `known` for some webhooks, the others
 * for the rest. A webhook that may read no events is left out. */
export type FollowRooms = {
  known: { webhookId: string; events: number; room: number }[];
  events: number;
  room: number;
};

export type FollowLimits = { nowMs: number; lease: string; rooms: FollowRooms; webhooks?: number };

export type FollowedWebhook = {
  workspaceId: string;
  webhookId: string;
  signer: WebhookSigner;
  /** Deliveries that were added without a lease. */
  waiting: number;
  /** It may have more events to read. */
  behind: boolean;
};

/** `behind`: there may be more webhooks with events than one call reads, so call again. */
export type Followed = { webhooks: FollowedWebhook[]; leased: LeasedDelivery[]; behind: boolean };

export const webhooksPerFollow = 50;
/** A webhook with some types reads at most this many events to find those of its types. */
const skimmedEvents = 500;

/**
 * Adds deliveries and moves each webhook's position in the log in one statement, so that a crash cannot separate them. Several nodes share
 * the work: a statement skips webhooks that another node has locked. Event numbers are in commit order, so a statement that sees one sees
 * all before it. The position is the number alone: event times may go back when the database's clock is set. `followed_at` is the service time
 * of the last read, so that webhooks take turns. Webhooks by scan (they are few), events by primary key. `place` counts the events of a webhook's types.
 *
 * Within its room a webhook's deliveries are added with a lease, which saves a lease statement. As in leaseDeliveries, not while an earlier
 * event of the same email waits for its first attempt, unless this worker has leased it. A webhook that another statement has moved since the
 * snapshot of this one gets no leases: the deliveries of that statement are not visible here.
 */
export async function followLog(
  sql: Sql,
  { nowMs, lease, rooms, webhooks: most = webhooksPerFollow }: FollowLimits,
): Promise<Followed> {
  const { known } = rooms;
  const rows = await sql<FollowedRow[]>`
    with known as materialized (
      select * from unnest(${known.map((k) => k.webhookId)}::uuid[], ${known.map((k) => k.events)}::int[], ${known.map((k) => k.room)}::int[])
        as k(webhook_id, events, room)
    ), picked as materialized (
      select w.workspace_id, w.id, w.event_types, w.followed, w.url, ${sealedSecrets(sql)} as secrets,
        coalesce(k.events, ${rooms.events}) as events, coalesce(k.room, ${rooms.room}) as room
      from webhooks w join event_counters c using (workspace_id) left join known k on k.webhook_id = w.id
      where w.disabled_at is null and greatest(w.followed, c.oldest - 1) < c.last and coalesce(k.events, ${rooms.events}) > 0
      order by w.followed_at limit ${constant(sql, most)} for update of w skip locked
    ), new_events as materialized (
      select p.workspace_id, p.id as webhook_id, p.event_types, case when w.followed = p.followed then p.room else 0 end as room, e.*
      from picked p join webhooks w on w.workspace_id = p.workspace_id and w.id = p.id, lateral (
        select *, count(*) filter (where p.event_types = '{}' or type = any(p.event_types)) over (order by number) as place from (
          select number, id as event_id, type, email_id, created_at, message_id, metadata, payload from events
          where workspace_id = p.workspace_id and number > p.followed
          order by number limit case when p.event_types = '{}' then p.events else greatest(p.events, ${constant(sql, skimmedEvents)}) end) s) e
      where place <= p.events
    ), moved as (
      update webhooks w set followed = n.number, followed_at = (select service_time())
      from (select workspace_id, webhook_id, max(number) as number from new_events group by workspace_id, webhook_id) n
      where w.workspace_id = n.workspace_id and w.id = n.webhook_id
    ), matching as materialized (
      select *, ${countedId(sql, nowMs, sql`row_number() over (order by number, webhook_id)`)} as id from new_events where event_types = '{}' or type = any(event_types)
    ), delivery as materialized (
      -- The order leaves the planner no choice but the index of untried deliveries. With statistics of an empty table, it read the whole queue.
      select *, case when place <= room and (
        select true from webhook_deliveries earlier where earlier.webhook_id = m.webhook_id and earlier.email_id = m.email_id
          and earlier.status = 'queued' and earlier.attempts = 0 and earlier.event_number < m.number
          and (earlier.lease is null or earlier.lease >> 32 <> ${lease}::bigint >> 32)
        order by earlier.event_number limit 1) is null then ${lease}::bigint end as lease
      from matching m
    ), added as (
      insert into webhook_deliveries (workspace_id, webhook_id, id, event_number, event_id, event_type, event_at, email_id, due_at, lease)
      select workspace_id, webhook_id, id, number, event_id, type, created_at, email_id, (select service_time()), lease from delivery
    ), leased as (
      select *, row_number() over (partition by workspace_id, number order by webhook_id) > 1 as again, ${whatFits(sql, sql`d`)} as fits
      from delivery d where lease is not null
    )
    select p.workspace_id as "workspaceId", p.id as "webhookId", p.url, p.secrets as "sealedSecrets",
      (select count(*)::int from delivery d where d.webhook_id = p.id and d.lease is null) as waiting,
      (select max(place) = p.events or count(*) >= ${constant(sql, skimmedEvents)} from new_events n where n.webhook_id = p.id) is true as behind,
      null as id, null as number, null as "eventId", null as type, null as "emailId", null as "messageId", null as metadata, null as payload,
      null as "createdAt", null as fits, null as again
    from picked p
    union all
    select workspace_id, webhook_id, null, null, null, null, id, number, event_id, type, email_id, message_id,
      case when fits and not again then metadata end, case when fits and not again then payload end, created_at, fits, again
    from leased order by number nulls first`;
  const webhooks: FollowedWebhook[] = [];
  const signers = new Map<string, WebhookSigner>();
  const events = new Map<string, StoredEvent>();
  const leased: LeasedDelivery[] = [];
  // Deliveries of one event share it, so that it is sent, converted and rendered once.
  const keyOf = ({ workspaceId, number }: { workspaceId: string; number: string | null }) => `${workspaceId} ${number}`;
  for (const row of rows) if (row.id !== null && row.fits && !row.again) events.set(keyOf(row), leasedEvent(row)!);
  for (const row of rows) {
    const { workspaceId, webhookId } = row;
    if (row.id === null) {
      const signer = { workspaceId, id: webhookId, url: row.url, sealedSecrets: row.sealedSecrets };
      signers.set(webhookId, signer);
      webhooks.push({ workspaceId, webhookId, signer, waiting: row.waiting, behind: row.behind });
      continue;
    }
    const { id, emailId, fits } = row;
    const event = fits ? events.get(keyOf(row)) : undefined;
    const signer = signers.get(webhookId)!;
    leased.push({ workspaceId, webhookId, id, lease, attempts: 0, emailId, event, isLarge: !fits, signer });
  }
  return { webhooks, leased, behind: webhooks.length === most };
}

/** Ordered ids for the rows of one statement: a UUIDv7 whose last 32 bits are a counter (RFC 9562 §6.2). */
export function countedId(sql: Sql, nowMs: number, position: ReturnType<Sql>) {
  return sql`(${makeUuid(nowMs).slice(0, 28)}::text || lpad(to_hex(${position}), 8, '0'))::uuid`;
}

type FollowedRow = {
  workspaceId: string;
  webhookId: string;
  url: string;
  sealedSecrets: string[];
  waiting: number;
  behind: boolean;
  fits: boolean;
  /** The event is in the row of another webhook. */
  again: boolean;
} & ({ id: null } | ({ id: string } & LeasedEventColumns));
