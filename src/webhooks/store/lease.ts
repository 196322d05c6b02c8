/** Leases due deliveries to a worker for one attempt, webhook by webhook. As with leases of mail, the upper bits of a lease are the
 * worker's id, and it is free again when that worker has no heartbeat. Called by the webhook loop. */

import type { StoredEvent } from "../../events/store.ts";
import type { Sql } from "../../postgres/pool.ts";
import { constant } from "../../postgres/sql.ts";
import { liveWorkers } from "../../postgres/workers.ts";
import { failingFrom, sealedSecrets, type WebhookSigner } from "./webhooks.ts";

/** A webhook with queued deliveries. */
export type WaitingWebhook = {
  workspaceId: string;
  webhookId: string;
  dueInMs: number;
  /** The queue of a `disabled` or `deleted` webhook is dropped. */
  state: "enabled" | "disabled" | "deleted";
  /** Every delivery has failed for more than a minute. */
  failing: boolean;
};

export type LeasedDelivery = {
  workspaceId: string;
  webhookId: string;
  id: string;
  lease: string;
  attempts: number;
  emailId: string | null;
  /** Undefined when the event has been deleted, and when it is large. */
  event: StoredEvent | undefined;
  /** The event is read when its turn comes, so that rows that are leased ahead need little memory. */
  isLarge: boolean;
  /** The state of the webhook when the row was leased. */
  signer: WebhookSigner;
};

/** Events with more bytes are not read with the lease. */
const maxEventBytes = 4096;

/** A parameter, because a statement without any is not prepared: each call would plan it for the partitions of all weeks. */
const failingAfter = "1 minute";

/** Skips through the index webhook_deliveries_due, so that the cost is per webhook, not per row. */
export async function findWaitingWebhooks(sql: Sql, limit: number): Promise<WaitingWebhook[]> {
  return await sql<WaitingWebhook[]>`
    with recursive webhook as (
      (select webhook_id, workspace_id, due_at from webhook_deliveries where status = 'queued' order by webhook_id, due_at limit 1)
      union all
      select next.* from webhook, lateral (
        select d.webhook_id, d.workspace_id, d.due_at from webhook_deliveries d
        where d.status = 'queued' and d.webhook_id > webhook.webhook_id order by d.webhook_id, d.due_at limit 1) next
    )
    select l.workspace_id as "workspaceId", l.webhook_id as "webhookId",
      (extract(epoch from l.due_at - (select service_time())) * 1000)::float8 as "dueInMs",
      case when w.id is null then 'deleted' when w.disabled_at is not null then 'disabled' else 'enabled' end as state,
      coalesce(${failingFrom(sql)} < (select service_time()) - ${failingAfter}::interval, false) as failing
    from (select * from webhook limit ${constant(sql, limit)}) l left join webhooks w on w.workspace_id = l.workspace_id and w.id = l.webhook_id`;
}

/**
 * Leases up to `quota` due deliveries of each webhook and commits. A delivery waits until every earlier event of the same email has had its
 * first attempt at this webhook, so that a receiver gets the events of an email in order unless an attempt fails. It need not wait for
 * deliveries that this worker has leased, because the worker keeps their order. Indexes
 * webhook_deliveries_due and webhook_deliveries_untried; events by primary key. `offset 0` keeps the planner from joining with the whole
 * queue of the webhook, so that the cost of a lease does not depend on the backlog.
 */
export async function leaseDeliveries(
  sql: Sql,
  lease: string,
  webhooks: readonly { workspaceId: string; webhookId: string; quota: number }[],
): Promise<LeasedDelivery[]> {
  const rows = await sql<LeasedRow[]>`
    with live as materialized (${liveWorkers(sql)}), webhook as (
      select l.* from unnest(${webhooks.map((l) => l.workspaceId)}::uuid[], ${webhooks.map((l) => l.webhookId)}::uuid[], ${webhooks.map((l) => l.quota)}::int[])
        as l(workspace_id, webhook_id, quota)
      join webhooks w on w.workspace_id = l.workspace_id and w.id = l.webhook_id and w.disabled_at is null
    ), picked as materialized (
      select r.* from webhook, live, lateral (
        select d.workspace_id, d.webhook_id, d.id from webhook_deliveries d
        where d.webhook_id = webhook.webhook_id and d.status = 'queued' and d.due_at <= (select service_time())
          and (d.lease is null or d.lease >> 32 <> all (live.ids))
          and not exists (select 1 from webhook_deliveries earlier where earlier.webhook_id = d.webhook_id and earlier.email_id = d.email_id
            and earlier.status = 'queued' and earlier.attempts = 0 and earlier.event_number < d.event_number
            and (earlier.lease is null or earlier.lease >> 32 <> ${lease}::bigint >> 32) offset 0)
        order by d.due_at, d.event_number limit webhook.quota for update of d skip locked) r
    ), leased as (
      update webhook_deliveries d set lease = ${lease} from picked p
      where d.workspace_id = p.workspace_id and d.webhook_id = p.webhook_id and d.id = p.id
      returning d.workspace_id, d.webhook_id, d.id, d.attempts, d.email_id, d.event_number, d.event_at
    )
    select l.workspace_id as "workspaceId", l.webhook_id as "webhookId", l.id, l.attempts, l.email_id as "emailId",
      w.url, ${sealedSecrets(sql)} as "sealedSecrets", e.number, e.id as "eventId", e.type, e.message_id as "messageId",
      case when f.fits then e.metadata end as metadata, case when f.fits then e.payload end as payload, e.created_at as "createdAt", f.fits
    from leased l join webhooks w on w.workspace_id = l.workspace_id and w.id = l.webhook_id
    left join events e on e.workspace_id = l.workspace_id and e.number = l.event_number and e.created_at = l.event_at
    cross join lateral (select ${whatFits(sql, sql`e`)} as fits) f
    order by l.event_number`;
  return rows.map((row) => delivery(row, lease));
}

/** Releases leases without another change, for deliveries whose result is unknown because the worker stops. */
export async function releaseDeliveries(sql: Sql, rows: readonly LeasedDelivery[]): Promise<void> {
  await sql`
    update webhook_deliveries d set lease = null
    from unnest(${rows.map((r) => r.workspaceId)}::uuid[], ${rows.map((r) => r.webhookId)}::uuid[], ${rows.map((r) => r.id)}::uuid[],
      ${rows.map((r) => r.lease)}::bigint[]) as x(workspace_id, webhook_id, id, lease)
    where d.workspace_id = x.workspace_id and d.webhook_id = x.webhook_id and d.id = x.id and d.lease = x.lease`;
}

/**
 * Fails the queued deliveries of a disabled webhook, or deletes those of a deleted one with their attempts, up to `limit`. Skips leased
 * deliveries, whose attempts settle first. Returns how many it has dropped. Index webhook_deliveries_due, and primary keys.
 */
export async function dropWaiting(
  sql: Sql,
  webhook: { workspaceId: string; webhookId: string; limit: number },
): Promise<number> {
  const [row] = await sql<{ dropped: number }[]>`
    with webhook as materialized (
      select disabled_at from webhooks where workspace_id = ${webhook.workspaceId} and id = ${webhook.webhookId}
    ), live as materialized (${liveWorkers(sql)}), waiting as materialized (
      select d.id from webhook_deliveries d, live
      where d.workspace_id = ${webhook.workspaceId} and d.webhook_id = ${webhook.webhookId} and d.status = 'queued'
        and (d.lease is null or d.lease >> 32 <> all (live.ids)) and not exists (select 1 from webhook where disabled_at is null)
      order by d.due_at limit ${webhook.limit} for update of d skip locked
    ), failed as (
      update webhook_deliveries d set status = 'failed', settled_at = now(), lease = null,
        error = 'the webhook was disabled before this event was delivered'
      from waiting x where d.workspace_id = ${webhook.workspaceId} and d.webhook_id = ${webhook.webhookId} and d.id = x.id
        and exists (select 1 from webhook)
    ), deleted as (
      delete from webhook_deliveries d using waiting x
      where d.workspace_id = ${webhook.workspaceId} and d.webhook_id = ${webhook.webhookId} and d.id = x.id and not exists (select 1 from webhook)
    ), forgotten as (
      delete from webhook_attempts a using waiting x
      where a.workspace_id = ${webhook.workspaceId} and a.webhook_id = ${webhook.webhookId} and a.delivery_id = x.id and not exists (select 1 from webhook)
    )
    select count(*)::int as dropped from waiting`;
  return row!.dropped;
}

/** Whether an event is read with the lease. Its size is known without reading it, unless it is compressed. */
export function whatFits(sql: Sql, e: ReturnType<Sql>) {
  const limit = constant(sql, maxEventBytes);
  return sql`(pg_column_size(${e}.payload) + pg_column_size(${e}.metadata) <= ${limit}
    and pg_column_compression(${e}.payload) is null and pg_column_compression(${e}.metadata) is null)`;
}

export type LeasedEventColumns = Omit<StoredEvent, "id"> & { eventId: string };

export function leasedEvent(row: LeasedEventColumns): StoredEvent {
  const { number, eventId: id, type, emailId, messageId, metadata, payload, createdAt } = row;
  return { number, id, type, emailId, messageId, metadata, payload, createdAt };
}

type LeasedRow = Pick<LeasedDelivery, "workspaceId" | "webhookId" | "id" | "attempts"> &
  Pick<WebhookSigner, "url" | "sealedSecrets"> &
  LeasedEventColumns & { fits: boolean };

function delivery(row: LeasedRow, lease: string): LeasedDelivery {
  const { workspaceId, webhookId, id, attempts, emailId, url, sealedSecrets } = row;
  const exists = (row.number as string | null) !== null;
  const event = exists && row.fits ? leasedEvent(row) : undefined;
  const signer = { workspaceId, id: webhookId, url, sealedSecrets };
  return { workspaceId, webhookId, id, lease, attempts, emailId, event, isLarge: exists && !row.fits, signer };
}
