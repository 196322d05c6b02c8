/** Settles webhook deliveries: writes the attempt and its result, the state of the webhook, and an event if the webhook is disabled, in one
 * statement and only if the lease is still valid. The webhook loop calls it through a group commit. */

import { bigintArray, intArray, textArray, uuidArray } from "../../postgres/arrays.ts";
import { createGroupCommit, type GroupCommit } from "../../postgres/group-commit.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { retrying, type Sql } from "../../postgres/pool.ts";
import { inWeek, type Tables, tablesOf, weekOf } from "../../postgres/weeks.ts";
import type { Exchange } from "../post.ts";
import { failingFrom, sealedSecrets, type WebhookSigner } from "./webhooks.ts";

/** `queued`: retried in `dueInMs`. The other statuses are final. */
export type WebhookSettlement = {
  workspaceId: string;
  webhookId: string;
  id: string;
  lease: string;
  status: "queued" | "delivered" | "failed";
  dueInMs: number | undefined;
  attempts: number;
  responseStatus: number | undefined;
  responseHead: string;
  durationMs: number;
  error: string;
  exchange: Exchange;
  /** What the attempt shows about the endpoint; `unknown` after an internal error. */
  endpoint: "worked" | "failed" | "gone" | "unknown";
  /** The id of the event, if this settlement disables the webhook. */
  eventId: string;
};

/** `settled` is false when another worker has taken over the lease. `disabled`: this settlement disabled the webhook. */
export type WebhookSettled = { settled: boolean; disabled: boolean };

/** The state of a webhook as a statement found it. `signer` is undefined when the webhook is disabled or deleted. */
export type WebhookState = { webhookId: string; signer: WebhookSigner | undefined };

/** During an upgrade, an earlier program that follows a jump of the clock creates partitions of deliveries without those of attempts. */
const missingPartition = "23514";

export function createWebhookSettler(
  sql: Sql,
  options: { disableAfterMs: number; onDisabled(): void; onRead(webhooks: readonly WebhookState[]): void },
): GroupCommit<WebhookSettlement, WebhookSettled> {
  /** How many deliveries of the newest week have been settled here. */
  const settled = { week: Number.NaN, count: 0 };
  return createGroupCommit<WebhookSettlement, WebhookSettled>({
    async run(items) {
      const { disableAfterMs } = options;
      const week = weekOf(items[0]!.id);
      if (!(week <= settled.week)) Object.assign(settled, { week, count: 0 });
      settled.count += items.length;
      const isFilled = week < settled.week || settled.count > filledRows;
      const settle = () =>
        retrying(() =>
          inWeek(sql, week, (_, tables) => settleDeliveries(sql, items, { disableAfterMs, isFilled, tables })),
        );
      const { results, webhooks } = await settle().catch(async (error) => {
        if ((error as { code?: string }).code !== missingPartition) throw error;
        await ensurePartitions(sql);
        return await settle();
      });
      options.onRead(webhooks);
      if (results.some(({ disabled }) => disabled)) options.onDisabled();
      return results;
    },
    partOf: ({ id }) => weekOf(id),
    maxItems: 500,
    maxBytes: 1024 * 1024,
    concurrency: 2,
    // The endpoint does not wait for it.
    minIntervalMs: 30,
    parallelAfterMs: 1000,
    splitOn: (error) => /^2[23]/.test(String((error as { code?: string }).code)),
  });
}

/** A plan that was made when a partition was empty may read all rows of a webhook for each one, until the statistics are gathered a minute later.
 * So the statement is planned again after this many rows, when the size of the partition shows which index is the better one. */
const filledRows = 500;

/** About the size of a settlement in a statement. */
export function bytesOf({ responseHead, error, exchange }: WebhookSettlement): number {
  return [responseHead, error, ...Object.values(exchange)].reduce((sum, text) => sum + text.length, 0);
}

/**
 * Locks in one order: deliveries by id, then webhooks by id, then counters by workspace; each step reads the one before it to the end. A
 * webhook's row is written only when its state changes (the first success after failures, the first failure, being disabled), and once a
 * minute for the times of the last success and failure. The statement does not check the status, since a final delivery has no lease and
 * the planner might use the index of the whole queue. Primary keys.
 *
 * The batch is passed as binary arrays: reading it from JSON took more time than writing it.
 */
export async function settleDeliveries(
  sql: Sql,
  items: readonly WebhookSettlement[],
  {
    disableAfterMs,
    isFilled = false,
    tables = tablesOf(sql, undefined),
  }: { disableAfterMs: number; isFilled?: boolean; tables?: Tables },
): Promise<{ results: WebhookSettled[]; webhooks: WebhookState[] }> {
  const texts = (of: (item: WebhookSettlement) => string) => textArray(items.map(of));
  const ids = (of: (item: WebhookSettlement) => string) => uuidArray(items.map(of));
  const integers = (of: (item: WebhookSettlement) => number | undefined) => intArray(items.map(of));
  const rows = await sql<SettledRow[]>`
    ${sql.unsafe(isFilled ? "/* for a filled partition */" : "")}
    with input as (
      select *, attempt::smallint as attempts, due_ms * interval '1 millisecond' as due_in from unnest(
        ${ids((i) => i.workspaceId)}::uuid[], ${ids((i) => i.webhookId)}::uuid[], ${ids((i) => i.id)}::uuid[],
        ${bigintArray(items.map(({ lease }) => lease))}::bigint[], ${texts((i) => i.status)}::text[], ${bigintArray(items.map(({ dueInMs }) => dueInMs))}::bigint[],
        ${integers((i) => i.attempts)}::int[], ${integers((i) => i.responseStatus)}::int[], ${texts((i) => i.responseHead)}::text[],
        ${integers((i) => i.durationMs)}::int[], ${texts((i) => i.error)}::text[], ${texts((i) => i.exchange.url)}::text[],
        ${texts((i) => i.exchange.requestHeaders)}::text[], ${texts((i) => i.exchange.responseHeaders)}::text[],
        ${texts((i) => i.exchange.responseBody)}::text[], ${texts((i) => i.endpoint)}::text[], ${ids((i) => i.eventId)}::uuid[]
      ) with ordinality as x(workspace_id, webhook_id, id, lease, status, due_ms, attempt, response_status, response_head, duration_ms, error,
        url, request_headers, response_headers, response_body, endpoint, event_id, ord)
    ), leased as materialized (
      -- Row by row through the primary key, also in the joins below: as in delivery/store/settle.ts, the condition that is always true makes
      -- the planner expect few rows. Otherwise it read the whole partition for each batch.
      select i.* from (select * from input where ord + 0 = ord order by id offset 0) i cross join lateral (
        select 1 from ${tables("webhook_deliveries")} d
        where d.workspace_id = i.workspace_id and d.webhook_id = i.webhook_id and d.id = i.id and d.lease = i.lease limit 1 for update) d
    ), delivery as (
      update ${tables("webhook_deliveries")} d set status = l.status, lease = null, attempts = l.attempts, due_at = coalesce((select service_time()) + l.due_in, d.due_at),
        response_status = l.response_status, response_head = l.response_head, duration_ms = l.duration_ms, error = l.error,
        last_attempt_at = now(), settled_at = case when l.status = 'queued' then null else now() end
      from leased l where d.workspace_id = l.workspace_id and d.webhook_id = l.webhook_id and d.id = l.id
    ), attempt as (
      insert into webhook_attempts (workspace_id, webhook_id, delivery_id, number, url, request_headers, response_status, response_headers,
        response_body, duration_ms, error, attempted_at)
      select workspace_id, webhook_id, id, attempts, url, request_headers, response_status, response_headers, response_body, duration_ms, error, now()
      from leased
    ), verdict as (
      select workspace_id, webhook_id, bool_or(endpoint = 'worked') as worked, bool_or(endpoint in ('failed', 'gone')) as failed,
        bool_or(endpoint = 'gone') as gone, (array_agg(event_id))[1] as event_id, max(error) as error
      from leased group by workspace_id, webhook_id
    ), clock as materialized (
      -- Read once, so that the times that are shown are as far apart as those that decide. now() is older if a lock was waited for.
      select service_time() as service, wall_time() as wall
    ), webhook as materialized (
      select w.workspace_id, w.id, w.url, w.failing_since, v.worked, v.failed, v.gone, v.event_id,
        w.disabled_at is null and (v.gone or not v.worked and v.failed and ${failingFrom(sql)} <= (select service from clock) - ${disableAfterMs} * interval '1 millisecond') as ends,
        case when v.gone then 'the endpoint answered 410 (Gone), so it gets no more events'
          else 'every delivery has failed since ' || to_char(w.failing_since at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"') || '; the last one with: ' || v.error end as reason
      from webhooks w join verdict v on v.workspace_id = w.workspace_id and v.webhook_id = w.id
      where (v.worked and w.failing_since is not null) or (v.failed and not v.worked and w.failing_since is null) or v.gone
        or (v.failed and not v.worked and ${failingFrom(sql)} <= (select service from clock) - ${disableAfterMs} * interval '1 millisecond')
        or (v.worked and ${isStale(sql, sql`w.last_success_at`)}) or (v.failed and ${isStale(sql, sql`w.last_failure_at`)})
      order by w.id for update of w
    ), changed as (
      update webhooks w set failing_since = case when x.worked then null else coalesce(w.failing_since, (select wall from clock)) end,
        failing_from = case when x.worked then null when w.failing_since is null then (select service from clock) else w.failing_from end,
        last_success_at = case when x.worked then now() else w.last_success_at end,
        last_failure_at = case when x.failed then now() else w.last_failure_at end,
        disabled_at = case when x.ends then (select wall from clock) else w.disabled_at end, disabled_reason = case when x.ends then x.reason else w.disabled_reason end,
        updated_at = case when x.ends then now() else w.updated_at end
      from webhook x where w.workspace_id = x.workspace_id and w.id = x.id
    ), counter as materialized (
      select workspace_id from event_counters where workspace_id in (select workspace_id from webhook where ends) order by workspace_id for update
    ), bump as (
      update event_counters c set last = c.last + n.events
      from (select workspace_id, count(*) as events from webhook where ends group by workspace_id) n
      where c.workspace_id = n.workspace_id and (select count(*) from counter) > 0
      returning c.workspace_id, c.last - n.events as base
    ), event as (
      insert into events (workspace_id, number, id, type, payload, created_at)
      select x.workspace_id, b.base + row_number() over (partition by x.workspace_id order by x.id), x.event_id, 'webhook.disabled',
        jsonb_strip_nulls(jsonb_build_object('webhookId', 'wh_' || x.id, 'url', x.url, 'reason', x.reason,
          'failingSince', case when not x.gone then to_char(x.failing_since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end)),
        (select stamp_time())
      from webhook x join bump b using (workspace_id) where x.ends
    )
    select l.ord::int - 1 as ord, coalesce(x.ends, false) as disabled, null as "workspaceId", null as "webhookId", null as url, null as "sealedSecrets"
    from leased l left join webhook x on x.workspace_id = l.workspace_id and x.id = l.webhook_id
    union all
    select null, coalesce(x.ends, w.disabled_at is not null), v.workspace_id, v.webhook_id, w.url, ${sealedSecrets(sql)}
    from verdict v left join webhooks w on w.workspace_id = v.workspace_id and w.id = v.webhook_id
    left join webhook x on x.workspace_id = v.workspace_id and x.id = v.webhook_id`;
  const disabledByOrd = new Map(rows.map((row) => [row.ord, row.disabled]));
  return {
    results: items.map((_, ord) => ({ settled: disabledByOrd.has(ord), disabled: disabledByOrd.get(ord) ?? false })),
    webhooks: rows.filter(({ ord }) => ord === null).map(stateOf),
  };
}

type SettledRow = {
  ord: number | null;
  disabled: boolean;
  workspaceId: string;
  webhookId: string;
  url: string | null;
  sealedSecrets: string[];
};

/** A deleted webhook has no URL. */
function stateOf({ disabled, workspaceId, webhookId, url, sealedSecrets }: SettledRow): WebhookState {
  const isOff = disabled || url === null;
  return { webhookId, signer: isOff ? undefined : { workspaceId, id: webhookId, url, sealedSecrets } };
}

/** A minute old, or from a time when the clock was ahead. */
function isStale(sql: Sql, time: ReturnType<Sql>) {
  return sql`(${time} between now() - interval '1 minute' and now() + interval '1 minute') is not true`;
}
