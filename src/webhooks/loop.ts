/** The webhook role: leases due deliveries webhook by webhook, makes one attempt at each, and settles what comes out. No transaction is
 * open while an endpoint is spoken to. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { makeLease } from "../store/lease.ts";
import {
  dropWaiting,
  findWebhookLanes,
  type LeasedDelivery,
  leaseDeliveries,
  releaseDeliveries,
  type WebhookLane,
} from "../store/webhook-lease.ts";
import type { WebhookSettled, WebhookSettlement } from "../store/webhook-settle.ts";
import { createLanes, type LaneLimits, type Picked } from "./lanes.ts";

export type Worker = {
  workerId(): number;
  /** Goes on under a new id; the old one is kept alive until `done`, then its leases are free. */
  renew(done: Promise<unknown>): Promise<void>;
};

export type WebhookLoopDeps = {
  sql: Sql;
  log: Log;
  worker: Worker;
  /** Resolves to what the delivery came to, or `undefined` when it was cut off. */
  deliver(row: LeasedDelivery, signal: AbortSignal): Promise<WebhookSettlement | undefined>;
  settle(item: WebhookSettlement): Promise<WebhookSettled>;
  limits?: Partial<LaneLimits>;
};

const defaultLimits: LaneLimits = { perEndpoint: 10, total: 512, failingTotal: 256, perTurn: 5 };
/** Whatever else is heard, the store is looked at this often. */
const pollMs = 1000;
const lanesPerLease = 20;
const lanesKnown = 10_000;
const dropAtOnce = 2000;

export function createWebhookLoop(deps: WebhookLoopDeps) {
  const { sql, log } = deps;
  const lanes = createLanes({ ...defaultLimits, ...deps.limits });
  const stopping = new AbortController();
  const cut = new AbortController();
  const inHand = new Set<Promise<void>>();
  const dropping = new Map<string, Promise<void>>();
  let leases = 0;
  let stirred = true;
  let lookedAtMs = 0;
  let stir = () => {};
  /** A lease may have been taken without us hearing of it. */
  let unheard = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (unheard) await renew();
        if (stirred || performance.now() - lookedAtMs >= pollMs) await look();
        const picked = lanes.pick(Date.now(), lanesPerLease);
        if (picked.length === 0) {
          await rest();
          continue;
        }
        const rows = await lease(picked);
        lanes.leased(picked, rows);
        for (const row of rows) start(row);
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, "the webhook loop failed and goes on");
        await delay(500, undefined, { signal: stopping.signal }).catch(() => {});
        stirred = true;
      }
    }
  }

  async function look(): Promise<void> {
    stirred = false;
    lookedAtMs = performance.now();
    const found = await findWebhookLanes(sql, lanesKnown);
    lanes.replace(
      found.filter(({ state }) => state === "enabled"),
      Date.now(),
    );
    for (const lane of found) if (lane.state !== "enabled" && !dropping.has(lane.webhookId)) drop(lane);
  }

  /** What waits for a webhook that is no more must not wait for ever; it is nobody's hurry. */
  function drop(lane: WebhookLane): void {
    const work = (async () => {
      while (!stopping.signal.aborted && (await dropWaiting(sql, { ...lane, limit: dropAtOnce })) === dropAtOnce);
    })()
      .catch((error: Error) =>
        log.warn({ reason: error.message }, "a webhook's queue could not be dropped, will try again"),
      )
      .finally(() => dropping.delete(lane.webhookId));
    dropping.set(lane.webhookId, work);
  }

  async function lease(picked: readonly Picked[]): Promise<LeasedDelivery[]> {
    try {
      return await leaseDeliveries(sql, makeLease(deps.worker.workerId(), ++leases), picked);
    } catch (error) {
      unheard = true;
      throw error;
    }
  }

  /** Rows that a statement leased without an answer are ours and nobody knows: they are free once the worker that leased them is gone. */
  async function renew(): Promise<void> {
    await deps.worker.renew(Promise.allSettled(inHand));
    unheard = false;
  }

  function start(row: LeasedDelivery): void {
    const work = serve(row)
      .then((worked) => lanes.finished(row.webhookId, worked))
      .finally(() => {
        inHand.delete(work);
        // What waited for this one, or for room at this endpoint, may go now.
        lanes.stir(row, Date.now());
        stir();
      });
    inHand.add(work);
  }

  /** Whether the endpoint worked; undefined when nothing was learned of it. */
  async function serve(row: LeasedDelivery): Promise<boolean | undefined> {
    const result = await deps.deliver(row, cut.signal).catch(async (error) => {
      log.error(
        { err: error, webhookId: row.webhookId },
        "an attempt failed by a fault of ours; it will be made again",
      );
      // A fault must not turn into a busy loop over the same delivery.
      await delay(1000, undefined, { signal: stopping.signal }).catch(() => {});
      return undefined;
    });
    await persist(async () => {
      if (!result) return await releaseDeliveries(sql, [row]);
      const { disabled } = await deps.settle(result);
      // Not what the endpoint said: that is for its owner, who reads it in the event and in the delivery log.
      if (disabled) log.info({ webhookId: row.webhookId, status: result.responseStatus }, "a webhook was disabled");
    });
    return !result || result.endpoint === "unknown" ? undefined : result.endpoint === "worked";
  }

  /** What is known must not be lost: it is written until the store takes it, or the process is cut off and somebody tries again. */
  async function persist(write: () => Promise<void>): Promise<void> {
    for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, 2000)) {
      try {
        return await write();
      } catch (error) {
        const { code, message } = error as Error & { code?: string };
        if (!isDatabaseAway(error))
          log.error({ code, reason: message }, "a webhook delivery could not be settled; it is tried again");
        if (cut.signal.aborted) return;
        await delay(waitMs, undefined, { signal: cut.signal }).catch(() => {});
      }
    }
  }

  /** Until something may have changed: new deliveries, room again, a webhook that becomes due, or the poll. */
  async function rest(): Promise<void> {
    const untilDue = (lanes.nextDueMs() ?? Number.POSITIVE_INFINITY) - Date.now();
    const untilPoll = lookedAtMs + pollMs - performance.now();
    // Due already and not picked: there is no room, and whoever makes room will say so.
    const waitMs = untilDue <= 0 ? untilPoll : Math.min(untilDue, untilPoll);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(5, waitMs));
      stir = () => {
        clearTimeout(timer);
        resolve();
      };
      if (stirred || stopping.signal.aborted) stir();
    });
    stir = () => {};
  }

  return {
    start() {
      running = run();
    },
    /** There are new deliveries. */
    wake() {
      stirred = true;
      stir();
    },
    /** No new leases; requests under way are settled, or cut off and given back when the limit is reached. */
    async stop(limitMs: number): Promise<void> {
      stopping.abort();
      stir();
      const timer = setTimeout(() => cut.abort(), limitMs);
      await running;
      await Promise.all([...inHand, ...dropping.values()]);
      clearTimeout(timer);
    },
  };
}
