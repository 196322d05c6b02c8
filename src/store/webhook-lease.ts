/** Leases of webhook deliveries: due ones handed to a worker for one attempt, webhook by webhook. Like the leases of mail, a lease
 * starts with its worker's id and is free again when that worker has gone silent. Called by the webhook role. */
import type { Sql } from "./db.ts";
import type { StoredEvent } from "./events.ts";
import { sealedSecrets, type WebhookSigner } from "./webhooks.ts";
import { deadAfterSeconds } from "./workers.ts";

/** A webhook with deliveries that wait. */
export type WebhookLane = {
  workspaceId: string;
  webhookId: string;
  dueInMs: number;
  /** `disabled` and `deleted`: nothing is posted, what waits is to be dropped. */
  state: "enabled" | "disabled" | "deleted";
  /** Nothing but failures for a while now. */
  failing: boolean;
};

export type LeasedDelivery = {
  workspaceId: string;
  webhookId: string;
  id: string;
  lease: string;
  attempts: number;
  emailId: string | null;
  /** Undefined when the event is past the time it is kept. */
  event: StoredEvent | undefined;
  signer: WebhookSigner;
};

/** Found by skipping through webhook_deliveries_due: the cost is per webhook, not per row. */
export async function findWebhookLanes(sql: Sql, limit: number): Promise<WebhookLane[]> {
  return await sql<WebhookLane[]>`
    with recursive lane as (
      (select webhook_id, workspace_id, due_at from webhook_deliveries where status = 'queued' order by webhook_id, due_at limit 1)
      union all
      select next.* from lane, lateral (
        select d.webhook_id, d.workspace_id, d.due_at from webhook_deliveries d
        where d.status = 'queued' and d.webhook_id > lane.webhook_id order by d.webhook_id, d.due_at limit 1) next
    )
    select l.workspace_id as "workspaceId", l.webhook_id as "webhookId",
      (extract(epoch from l.due_at - now()) * 1000)::float8 as "dueInMs",
      case when w.id is null then 'deleted' when w.disabled_at is not null then 'disabled' else 'enabled' end as state,
      coalesce(w.failing_since < now() - interval '1 minute', false) as failing
    from (select * from lane limit ${limit}) l left join webhooks w on w.workspace_id = l.workspace_id and w.id = l.webhook_id`;
}

/**
 * Takes up to `quota` due deliveries of each webhook and commits at once. One waits while an earlier event of the same email has not
 * had its first attempt at this webhook: a receiver hears of an email in order, unless it was not listening. Indexes
 * webhook_deliveries_due and webhook_deliveries_untried; events by primary key. `offset 0` keeps the planner from joining with all
 * that waits for the webhook, so that a lease costs the same whatever the backlog.
 */
export async function leaseDeliveries(
  sql: Sql,
  lease: string,
  lanes: readonly { workspaceId: string; webhookId: string; quota: number }[],
): Promise<LeasedDelivery[]> {
  const rows = await sql<LeasedRow[]>`
    with live as materialized (
      select coalesce(array_agg(id::bigint), '{}') as ids from workers where seen_at > now() - make_interval(secs => ${deadAfterSeconds})
    ), lane as (
      select l.* from unnest(${lanes.map((l) => l.workspaceId)}::uuid[], ${lanes.map((l) => l.webhookId)}::uuid[], ${lanes.map((l) => l.quota)}::int[])
        as l(workspace_id, webhook_id, quota)
      join webhooks w on w.workspace_id = l.workspace_id and w.id = l.webhook_id and w.disabled_at is null
    ), picked as materialized (
      select r.* from lane, live, lateral (
        select d.workspace_id, d.webhook_id, d.id from webhook_deliveries d
        where d.webhook_id = lane.webhook_id and d.status = 'queued' and d.due_at <= now()
          and (d.lease is null or d.lease >> 32 <> all (live.ids))
          and not exists (select 1 from webhook_deliveries earlier where earlier.webhook_id = d.webhook_id and earlier.email_id = d.email_id
            and earlier.status = 'queued' and earlier.attempts = 0 and earlier.event_number < d.event_number offset 0)
        order by d.due_at, d.event_number limit lane.quota for update of d skip locked) r
    ), leased as (
      update webhook_deliveries d set lease = ${lease} from picked p
      where d.workspace_id = p.workspace_id and d.webhook_id = p.webhook_id and d.id = p.id
      returning d.workspace_id, d.webhook_id, d.id, d.attempts, d.email_id, d.event_number, d.event_at
    )
    select l.workspace_id as "workspaceId", l.webhook_id as "webhookId", l.id, l.attempts, l.email_id as "emailId",
      w.url, ${sealedSecrets(sql)} as "sealedSecrets", e.number, e.id as "eventId", e.type, e.message_id as "messageId", e.metadata,
      e.payload, e.created_at as "createdAt"
    from leased l join webhooks w on w.workspace_id = l.workspace_id and w.id = l.webhook_id
    left join events e on e.workspace_id = l.workspace_id and e.number = l.event_number and e.created_at = l.event_at
    order by l.event_number`;
  return rows.map((row) => delivery(row, lease));
}

/** Gives deliveries back untouched, for a worker that stops before it knows how they ended. */
export async function releaseDeliveries(sql: Sql, rows: readonly LeasedDelivery[]): Promise<void> {
  await sql`
    update webhook_deliveries d set lease = null
    from unnest(${rows.map((r) => r.workspaceId)}::uuid[], ${rows.map((r) => r.webhookId)}::uuid[], ${rows.map((r) => r.id)}::uuid[],
      ${rows.map((r) => r.lease)}::bigint[]) as x(workspace_id, webhook_id, id, lease)
    where d.workspace_id = x.workspace_id and d.webhook_id = x.webhook_id and d.id = x.id and d.lease = x.lease`;
}

/**
 * Ends what waits for a webhook that is disabled (it fails) or deleted (it goes), a part at a time; an attempt that is under way is
 * left to settle first. Says how many it ended. Index webhook_deliveries_due.
 */
export async function dropWaiting(
  sql: Sql,
  lane: { workspaceId: string; webhookId: string; limit: number },
): Promise<number> {
  const [row] = await sql<{ dropped: number }[]>`
    with webhook as materialized (
      select disabled_at from webhooks where workspace_id = ${lane.workspaceId} and id = ${lane.webhookId}
    ), live as materialized (
      select coalesce(array_agg(id::bigint), '{}') as ids from workers where seen_at > now() - make_interval(secs => ${deadAfterSeconds})
    ), waiting as materialized (
      select d.id from webhook_deliveries d, live
      where d.workspace_id = ${lane.workspaceId} and d.webhook_id = ${lane.webhookId} and d.status = 'queued'
        and (d.lease is null or d.lease >> 32 <> all (live.ids)) and not exists (select 1 from webhook where disabled_at is null)
      order by d.due_at limit ${lane.limit} for update of d skip locked
    ), failed as (
      update webhook_deliveries d set status = 'failed', settled_at = now(), lease = null,
        error = 'the webhook was disabled before it could be delivered'
      from waiting x where d.workspace_id = ${lane.workspaceId} and d.webhook_id = ${lane.webhookId} and d.id = x.id
        and exists (select 1 from webhook)
    ), gone as (
      delete from webhook_deliveries d using waiting x
      where d.workspace_id = ${lane.workspaceId} and d.webhook_id = ${lane.webhookId} and d.id = x.id and not exists (select 1 from webhook)
    )
    select count(*)::int as dropped from waiting`;
  return row!.dropped;
}

type LeasedRow = Pick<LeasedDelivery, "workspaceId" | "webhookId" | "id" | "attempts" | "emailId"> &
  Pick<WebhookSigner, "url" | "sealedSecrets"> &
  Omit<StoredEvent, "id" | "number" | "emailId"> & { number: string | null; eventId: string };

function delivery(row: LeasedRow, lease: string): LeasedDelivery {
  const { workspaceId, webhookId, id, attempts, emailId, url, sealedSecrets, number, type, messageId, metadata } = row;
  const { payload, createdAt } = row;
  const event =
    number === null ? undefined : { number, id: row.eventId, type, emailId, messageId, metadata, payload, createdAt };
  const signer = { workspaceId, id: webhookId, url, sealedSecrets };
  return { workspaceId, webhookId, id, lease, attempts, emailId, event, signer };
}
