/** Webhooks post a workspace's events to its endpoints: this loop turns events into deliveries, leases, posts and settles them.
 * Parts: schedule.ts (what is leased next), hand.ts and endpoints.ts (leased rows, and which of them is posted next), signers.ts, deliver.ts and
 * attempt.ts (one delivery), post.ts (HTTP), rules/, store/ (SQL), service.ts (API).
 * Continue with hand.ts and deliver.ts. No transaction is open during a request. Started by app/assemble/webhooks.ts. */
import type { Log } from "../ops/log.ts";
import { createGroupCommit } from "../postgres/group-commit.ts";
import { createLeaseLoop } from "../postgres/lease-loop.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import type { Worker } from "../postgres/workers.ts";
import { onlyProcess, type ProcessPart, partOf } from "../shares/process-part.ts";
import { createEndpoints, type EndpointLimits } from "./endpoints.ts";
import { createHand, type HandLimits, type Turn } from "./hand.ts";
import { createWebhookSchedule, type ScheduleLimits } from "./schedule.ts";
import { createSigners } from "./signers.ts";
import { followLog } from "./store/follow.ts";
import {
  dropWaiting,
  findWaitingWebhooks,
  type LeasedDelivery,
  leaseDeliveries,
  releaseDeliveries,
  type WaitingWebhook,
} from "./store/lease.ts";
import type { WebhookSettled, WebhookSettlement, WebhookState } from "./store/settle.ts";
import { getEnabledSigner } from "./store/webhooks.ts";

export type WebhookLoopDeps = {
  sql: Sql;
  log: Log;
  worker: Worker;
  wake: Wake;
  /** For ids. */
  nowMs(): number;
  /** Resolves to the settlement, or to `undefined` when the request was aborted. */
  deliver(row: LeasedDelivery, signal: AbortSignal): Promise<WebhookSettlement | undefined>;
  settle(item: WebhookSettlement): Promise<WebhookSettled>;
  limits?: Partial<WebhookLimits>;
  part?: ProcessPart;
};

export type WebhookLimits = EndpointLimits & HandLimits & ScheduleLimits;

const defaultLimits: WebhookLimits = {
  perEndpoint: 10,
  perWindow: 1000,
  total: 512,
  failingTotal: 256,
  held: 4096,
  shareFactor: 3,
  perTurn: 500,
  perLease: 1000,
  events: 500,
};
/** The store is searched and the log is read at least this often, with or without a wake-up. */
const pollMs = 1000;
/** The pause between reads of the log, so that one covers many events. */
const gatherMs = 40;
/** Rows that end at about the same time lead to one turn. */
const settledPauseMs = 5;
/** A row that waits for its request for longer is released, because its lease may be lost. */
const longestWaitMs = 20_000;
const webhooksPerLease = 20;
const webhooksPerSearch = 10_000;
const dropBatchSize = 2000;

export function createWebhookLoop(deps: WebhookLoopDeps) {
  const { sql, log } = deps;
  const { part = onlyProcess } = deps;
  const limits = { ...defaultLimits, ...deps.limits };
  const endpoints = createEndpoints(limits);
  const hand = createHand<LeasedDelivery>(endpoints, {
    ...limits,
    total: partOf(limits.total, part),
    failingTotal: partOf(limits.failingTotal, part),
    held: partOf(limits.held, part),
  });
  const schedule = createWebhookSchedule(limits, { hand, endpoints });
  const nowMs = () => performance.now();
  const signers = createSigners({ read: (webhook) => getEnabledSigner(sql, webhook), nowMs });
  const search = { requested: true, lastMs: 0 };
  const position = { mayHaveEvents: true, lastMs: Number.NEGATIVE_INFINITY };
  /** Queues that are being dropped, by webhook id. */
  const dropping = new Map<string, Promise<void>>();
  let turnSoon: NodeJS.Timeout | undefined;
  let unsubscribe = () => {};
  const loop = createLeaseLoop({
    log,
    worker: deps.worker,
    health: sql.health,
    name: "webhook",
    turn,
    waitMs,
    onFailure: () => {
      search.requested = true;
      position.mayHaveEvents = true;
    },
  });
  const releaser = createGroupCommit<LeasedDelivery, void>({
    async run(rows) {
      await releaseDeliveries(sql, rows);
      return rows.map(() => undefined);
    },
    maxItems: 1000,
    maxBytes: Number.POSITIVE_INFINITY,
    concurrency: 1,
  });

  async function turn(): Promise<boolean> {
    if (search.requested || nowMs() - search.lastMs >= pollMs) await searchStore();
    const hasFollowed = untilFollowMs() <= 0 && (await follow());
    const picked = schedule.pick(nowMs(), webhooksPerLease);
    if (picked.length === 0) return hasFollowed;
    const leasedMs = nowMs();
    const rows = await loop.lease((lease) => leaseDeliveries(sql, lease, picked));
    schedule.leased(picked, rows);
    begin(rows, leasedMs);
    return true;
  }

  function untilFollowMs(): number {
    const pauseMs = schedule.isStarved() ? 0 : gatherMs;
    return position.lastMs + (position.mayHaveEvents ? pauseMs : pollMs) - nowMs();
  }

  /** Turns events of the log into deliveries, whichever node wrote the events. */
  async function follow(): Promise<boolean> {
    position.mayHaveEvents = false;
    position.lastMs = nowMs();
    const rooms = schedule.followRooms(nowMs());
    const followed = await loop.lease((lease) => followLog(sql, { nowMs: deps.nowMs(), lease, rooms }));
    const { webhooks, leased, behind } = followed;
    if (behind || webhooks.some((webhook) => webhook.behind) || rooms.known.some(({ events }) => events === 0))
      position.mayHaveEvents = true;
    schedule.followed(webhooks, nowMs());
    begin(leased, position.lastMs);
    if (behind) position.lastMs = Number.NEGATIVE_INFINITY;
    return leased.length > 0 || behind;
  }

  async function searchStore(): Promise<void> {
    search.requested = false;
    search.lastMs = nowMs();
    hand.releaseExcess(nowMs());
    const found = await findWaitingWebhooks(sql, webhooksPerSearch);
    schedule.replace(
      found.filter(({ state }) => state === "enabled"),
      nowMs(),
    );
    for (const webhook of found) {
      if (webhook.state === "enabled") continue;
      hand.withdraw(webhook.webhookId);
      if (!dropping.has(webhook.webhookId)) drop(webhook);
    }
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

  /** `leasedMs`: a time before the lease. */
  function begin(rows: readonly LeasedDelivery[], leasedMs: number): void {
    for (const { webhookId, signer } of rows) signers.note({ webhookId, signer });
    for (const row of rows) loop.track(serve(row, leasedMs), wakeSoon);
    hand.serve();
  }

  async function serve(row: LeasedDelivery, leasedMs: number): Promise<void> {
    const turn = await new Promise<Turn>((resolve) => hand.add(row, nowMs(), resolve));
    const result = turn === "post" ? await post(row, leasedMs) : undefined;
    await loop.persist(async () => {
      if (!result) return await releaser.add(row, 0);
      const { disabled } = await deps.settle(result);
      // The response is not logged. The workspace finds it in the event and in the delivery log.
      if (disabled) log.info({ webhookId: row.webhookId, status: result.responseStatus }, "a webhook was disabled");
    });
    if (result) schedule.recheck(row, nowMs());
    else schedule.returned(row, nowMs());
    if (hand.finished(row)) signers.forget(row.webhookId);
  }

  async function post(row: LeasedDelivery, leasedMs: number): Promise<WebhookSettlement | undefined> {
    const result = await loop.attempt(
      async (signal) => {
        // This process may have been frozen. Another one takes a lease after 30 seconds without a heartbeat.
        if (nowMs() - leasedMs > longestWaitMs) return undefined;
        const signer = await signers.of(row);
        if (signer) return await deps.deliver({ ...row, signer }, signal);
        turnOff(row.webhookId);
      },
      { webhookId: row.webhookId },
    );
    const worked = result && { worked: result.endpoint === "unknown" ? undefined : result.endpoint === "worked" };
    hand.attempted(row, worked, nowMs());
    hand.serve();
    if (hand.isDry(row.webhookId)) loop.wake();
    return result;
  }

  /** A webhook was disabled or deleted: its waiting rows are released, and the next search drops them. */
  function turnOff(webhookId: string): void {
    hand.withdraw(webhookId);
    search.requested = true;
  }

  function wakeSoon(): void {
    turnSoon ??= setTimeout(() => {
      turnSoon = undefined;
      loop.wake();
    }, settledPauseMs);
  }

  function waitMs(): number {
    const untilDue = (schedule.nextDueMs() ?? Number.POSITIVE_INFINITY) - nowMs();
    const untilPoll = Math.min(search.lastMs + pollMs - nowMs(), untilFollowMs());
    // A webhook that is due but was not picked has no room. The row that makes room wakes the loop.
    return untilDue <= 0 ? untilPoll : Math.min(untilDue, untilPoll);
  }

  return {
    start() {
      unsubscribe = deps.wake.on("events", () => {
        position.mayHaveEvents = true;
        loop.wake();
      });
      loop.start();
    },
    /** What a statement has read about webhooks. */
    note(webhooks: readonly WebhookState[]): void {
      for (const webhook of webhooks) {
        signers.note(webhook);
        if (!webhook.signer) turnOff(webhook.webhookId);
      }
    },
    /** Takes no new leases, releases the rows that wait, and settles requests in progress. After `limitMs` these are aborted and their leases
     * released. */
    async stop(limitMs: number): Promise<void> {
      unsubscribe();
      hand.close();
      await loop.stop(limitMs);
      clearTimeout(turnSoon);
      await Promise.all(dropping.values());
    },
  };
}
