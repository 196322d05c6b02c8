/** Webhooks post a workspace's events to its endpoints: follow.ts turns events into deliveries; this loop leases, posts and settles them.
 * Parts: schedule.ts (whose turn it is), deliver.ts and attempt.ts (one delivery), post.ts (HTTP), rules/, store/ (SQL), service.ts (API).
 * Continue with follow.ts and deliver.ts. No transaction is open during a request. Started by app/assemble/webhooks.ts. */
import type { Log } from "../ops/log.ts";
import { createLeaseLoop } from "../postgres/lease-loop.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Worker } from "../postgres/workers.ts";
import { onlyProcess, type ProcessPart, partOf } from "../shares/process-part.ts";
import { createWebhookSchedule, type WebhookLimits } from "./schedule.ts";
import {
  dropWaiting,
  findWaitingWebhooks,
  type LeasedDelivery,
  leaseDeliveries,
  releaseDeliveries,
  type WaitingWebhook,
} from "./store/lease.ts";
import type { WebhookSettled, WebhookSettlement } from "./store/settle.ts";

export type WebhookLoopDeps = {
  sql: Sql;
  log: Log;
  worker: Worker;
  /** Resolves to the settlement, or to `undefined` when the request was aborted. */
  deliver(row: LeasedDelivery, signal: AbortSignal): Promise<WebhookSettlement | undefined>;
  settle(item: WebhookSettlement): Promise<WebhookSettled>;
  limits?: Partial<WebhookLimits>;
  part?: ProcessPart;
};

const defaultLimits: WebhookLimits = {
  perEndpoint: 10,
  total: 512,
  failingTotal: 256,
  perTurn: 5,
  shareFactor: 3,
};
/** The store is searched at least this often, with or without a wake-up. */
const pollMs = 1000;
const webhooksPerLease = 20;
const webhooksPerSearch = 10_000;
const dropBatchSize = 2000;

export function createWebhookLoop(deps: WebhookLoopDeps) {
  const { sql, log } = deps;
  const { part = onlyProcess } = deps;
  const limits = { ...defaultLimits, ...deps.limits };
  const { total, failingTotal } = limits;
  const schedule = createWebhookSchedule({
    ...limits,
    total: partOf(total, part),
    failingTotal: partOf(failingTotal, part),
  });
  const search = { requested: true, lastMs: 0 };
  /** Queues that are being dropped, by webhook id. */
  const dropping = new Map<string, Promise<void>>();
  const loop = createLeaseLoop({
    log,
    worker: deps.worker,
    health: sql.health,
    name: "webhook",
    turn,
    waitMs,
    onFailure: () => {
      search.requested = true;
    },
  });

  async function turn(): Promise<boolean> {
    if (search.requested || performance.now() - search.lastMs >= pollMs) await searchStore();
    const picked = schedule.pick(performance.now(), webhooksPerLease);
    if (picked.length === 0) return false;
    const rows = await loop.lease((lease) => leaseDeliveries(sql, lease, picked));
    schedule.leased(picked, rows);
    for (const row of rows) start(row);
    return true;
  }

  async function searchStore(): Promise<void> {
    search.requested = false;
    search.lastMs = performance.now();
    const found = await findWaitingWebhooks(sql, webhooksPerSearch);
    schedule.replace(
      found.filter(({ state }) => state === "enabled"),
      performance.now(),
    );
    for (const webhook of found) if (webhook.state !== "enabled" && !dropping.has(webhook.webhookId)) drop(webhook);
  }

  /** Drops the queue of a disabled or deleted webhook in the background. */
  function drop(webhook: WaitingWebhook): void {
    const work = (async () => {
      while (
        !loop.stopping.aborted &&
        (await dropWaiting(sql, { ...webhook, limit: dropBatchSize })) === dropBatchSize
      );
    })()
      .catch((error: Error) =>
        log.warn({ reason: error.message }, "cannot drop the queue of a disabled or deleted webhook; will retry"),
      )
      .finally(() => dropping.delete(webhook.webhookId));
    dropping.set(webhook.webhookId, work);
  }

  function start(row: LeasedDelivery): void {
    const work = serve(row).then((worked) => schedule.finished(row.webhookId, worked));
    loop.track(work, () => {
      // Deliveries that waited for this one, or for a slot at this endpoint, may be due now.
      schedule.recheck(row, performance.now());
      loop.wake();
    });
  }

  /** Whether the endpoint worked; undefined when the attempt was aborted or failed with an internal error. */
  async function serve(row: LeasedDelivery): Promise<boolean | undefined> {
    const result = await loop.attempt((signal) => deps.deliver(row, signal), { webhookId: row.webhookId });
    await loop.persist(async () => {
      if (!result) return await releaseDeliveries(sql, [row]);
      const { disabled } = await deps.settle(result);
      // The response is not logged. The workspace finds it in the event and in the delivery log.
      if (disabled) log.info({ webhookId: row.webhookId, status: result.responseStatus }, "a webhook was disabled");
    });
    return !result || result.endpoint === "unknown" ? undefined : result.endpoint === "worked";
  }

  function waitMs(): number {
    const untilDue = (schedule.nextDueMs() ?? Number.POSITIVE_INFINITY) - performance.now();
    const untilPoll = search.lastMs + pollMs - performance.now();
    // A webhook that is due but was not picked has no free slot. The request that frees one wakes the loop.
    return untilDue <= 0 ? untilPoll : Math.min(untilDue, untilPoll);
  }

  return {
    start: loop.start,
    /** New deliveries were stored. */
    wake() {
      search.requested = true;
      loop.wake();
    },
    /** Takes no new leases and settles requests in progress. After `limitMs` requests are aborted and their leases released. */
    async stop(limitMs: number): Promise<void> {
      await loop.stop(limitMs);
      await Promise.all(dropping.values());
    },
  };
}
