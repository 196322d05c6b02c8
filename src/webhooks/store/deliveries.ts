/** The delivery log of a webhook: lists deliveries, queues events again and records tests. Called by WebhookService. */

import type { StoredEvent } from "../../events/store.ts";
import type { Sql } from "../../postgres/pool.ts";
import { shownTime } from "../../postgres/service-clock.ts";
import type { Exchange } from "../post.ts";
import { countedId } from "./follow.ts";

export type DeliveryStatus = "queued" | "delivered" | "failed";

export type Delivery = {
  id: string;
  webhookId: string;
  /** Null for a test. */
  eventNumber: string | null;
  eventId: string;
  eventType: string;
  eventAt: Date;
  emailId: string | null;
  status: DeliveryStatus;
  attempts: number;
  responseStatus: number | null;
  responseHead: string | null;
  durationMs: number | null;
  error: string | null;
  lastAttemptAt: Date | null;
  /** In wall time; the column is in service time. */
  dueAt: Date;
  settledAt: Date | null;
  createdAt: Date;
};

/** Newest first, by id. Index: the primary key; with an event webhook_deliveries_by_event, for failed ones webhook_deliveries_failed. */
export async function listDeliveries(
  sql: Sql,
  page: {
    workspaceId: string;
    webhookId: string;
    before: string | undefined;
    limit: number;
    status?: DeliveryStatus;
    eventId?: string;
  },
): Promise<Delivery[]> {
  return await sql<Delivery[]>`
    select ${columns(sql)} from webhook_deliveries d where workspace_id = ${page.workspaceId} and webhook_id = ${page.webhookId}
    ${page.before ? sql`and id < ${page.before}` : sql``}
    ${page.status === "failed" ? sql`and status = 'failed'` : page.status ? sql`and status = ${page.status}` : sql``}
    ${page.eventId ? sql`and event_id = ${page.eventId}` : sql``}
    order by id desc limit ${page.limit}`;
}

export async function getDelivery(
  sql: Sql,
  at: { workspaceId: string; webhookId: string; id: string },
): Promise<Delivery | undefined> {
  const [row] = await sql<Delivery[]>`
    select ${columns(sql)} from webhook_deliveries d
    where workspace_id = ${at.workspaceId} and webhook_id = ${at.webhookId} and id = ${at.id}`;
  return row;
}

/** The events of deliveries by number, without those that have been deleted. Primary keys; one partition of events each. */
export async function eventsOf(
  sql: Sql,
  at: { workspaceId: string; webhookId: string; ids: readonly string[] },
): Promise<Map<string, StoredEvent>> {
  const rows = await sql<StoredEvent[]>`
    select e.number, e.id, e.type, e.email_id as "emailId", e.message_id as "messageId", e.metadata, e.payload, e.created_at as "createdAt"
    from webhook_deliveries d join events e on e.workspace_id = d.workspace_id and e.number = d.event_number and e.created_at = d.event_at
    where d.workspace_id = ${at.workspaceId} and d.webhook_id = ${at.webhookId} and d.id = any(${at.ids as string[]}::uuid[])`;
  return new Map(rows.map((row) => [row.number, row]));
}

/**
 * Queues the events of a range again, filtered by the webhook's types, and returns their number. A delivery that is still queued becomes
 * due now instead of being duplicated. Events by primary key, deliveries by webhook_deliveries_by_event.
 */
export async function redeliver(
  sql: Sql,
  range: { workspaceId: string; webhookId: string; from: bigint; to: bigint; nowMs: number; anyType?: boolean },
): Promise<number> {
  const [row] = await sql.write<{ scheduled: number }[]>`
    with selected as materialized (
      select e.number, e.id, e.type, e.email_id, e.created_at from events e
      join webhooks w on w.workspace_id = e.workspace_id and w.id = ${range.webhookId}
      where e.workspace_id = ${range.workspaceId} and e.number between ${range.from.toString()} and ${range.to.toString()}
        ${range.anyType ? sql`` : sql`and (w.event_types = '{}' or e.type = any(w.event_types))`}
    ), waiting as materialized (
      select d.id, d.event_id from webhook_deliveries d where d.workspace_id = ${range.workspaceId} and d.webhook_id = ${range.webhookId}
        and d.event_id in (select id from selected) and d.status = 'queued' order by d.id for update
    ), brought_forward as (
      update webhook_deliveries d set due_at = least(d.due_at, (select service_time())) from waiting x
      where d.workspace_id = ${range.workspaceId} and d.webhook_id = ${range.webhookId} and d.id = x.id
    ), added as (
      insert into webhook_deliveries (workspace_id, webhook_id, id, event_number, event_id, event_type, event_at, email_id, due_at)
      select ${range.workspaceId}, ${range.webhookId}, ${countedId(sql, range.nowMs, sql`row_number() over (order by number)`)},
        number, id, type, created_at, email_id, (select service_time())
      from selected where id not in (select event_id from waiting)
      returning 1
    )
    select ((select count(*) from added) + (select count(distinct event_id) from waiting))::int as scheduled`;
  return row!.scheduled;
}

/** Records a test with its only attempt. Its event is not stored; `sampleEvent` computes it again for the log. */
export async function insertTestDelivery(
  sql: Sql,
  test: {
    workspaceId: string;
    webhookId: string;
    id: string;
    event: StoredEvent;
    status: "delivered" | "failed";
    responseStatus: number | undefined;
    responseHead: string;
    durationMs: number;
    error: string;
    exchange: Exchange;
  },
): Promise<Delivery> {
  const { url, requestHeaders, responseHeaders, responseBody } = test.exchange;
  const [row] = await sql.write<Delivery[]>`
    with attempt as (
      insert into webhook_attempts (workspace_id, webhook_id, delivery_id, number, url, request_headers, response_status, response_headers,
        response_body, duration_ms, error, attempted_at)
      values (${test.workspaceId}, ${test.webhookId}, ${test.id}, 1, ${url}, ${requestHeaders}, ${test.responseStatus ?? null},
        ${responseHeaders}, ${responseBody}, ${test.durationMs}, ${test.error}, now())
    )
    insert into webhook_deliveries as d (workspace_id, webhook_id, id, event_id, event_type, event_at, email_id, status, attempts,
      response_status, response_head, duration_ms, error, last_attempt_at, settled_at)
    values (${test.workspaceId}, ${test.webhookId}, ${test.id}, ${test.event.id}, ${test.event.type}, ${test.event.createdAt}, ${test.event.emailId},
      ${test.status}, 1, ${test.responseStatus ?? null}, ${test.responseHead}, ${test.durationMs}, ${test.error}, now(), now())
    returning ${columns(sql)}`;
  return row!;
}

function columns(sql: Sql) {
  return sql`d.id, d.webhook_id as "webhookId", d.event_number as "eventNumber", d.event_id as "eventId", d.event_type as "eventType",
    d.event_at as "eventAt", d.email_id as "emailId", d.status, d.attempts, d.response_status as "responseStatus",
    d.response_head as "responseHead", d.duration_ms as "durationMs", d.error, d.last_attempt_at as "lastAttemptAt", ${shownTime(sql, sql`d.due_at`)} as "dueAt",
    d.settled_at as "settledAt", d.created_at as "createdAt"`;
}
