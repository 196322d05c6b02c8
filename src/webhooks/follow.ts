/** The loop that turns new events of the log into webhook deliveries, whichever node wrote the events. Part of the webhook role. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Wake } from "../postgres/wake.ts";
import { followLog } from "./store/follow.ts";

/** The log is read at least this often, because wake-ups may get lost. */
const pollMs = 1000;
/** The pause after each statement, so that the next one covers many events. */
const gatherMs = 40;
const perStatement = { webhooks: 50, events: 200 };

export function createWebhookFollower(deps: { sql: Sql; log: Log; wake: Wake; nowMs: () => number; onAdded(): void }) {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let unsubscribe = () => {};
  let mayHaveEvents = true;
  let endWait = () => {};

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (!mayHaveEvents) await waitForEvents();
        mayHaveEvents = false;
        const { added, behind } = await followLog(deps.sql, { nowMs: deps.nowMs(), ...perStatement });
        if (added > 0) deps.onAdded();
        if (behind) mayHaveEvents = true;
        else await delay(gatherMs, undefined, { signal: stopping.signal }).catch(() => {});
      } catch (error) {
        if (!isDatabaseAway(error))
          deps.log.error({ err: error }, "cannot create webhook deliveries from the event log; will retry");
        await delay(500, undefined, { signal: stopping.signal }).catch(() => {});
        mayHaveEvents = true;
      }
    }
  }

  async function waitForEvents(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pollMs);
      endWait = () => {
        clearTimeout(timer);
        resolve();
      };
      if (mayHaveEvents || stopping.signal.aborted) endWait();
    });
    endWait = () => {};
  }

  return {
    start() {
      unsubscribe = deps.wake.on("events", () => {
        mayHaveEvents = true;
        endWait();
      });
      running = run();
    },
    async stop(): Promise<void> {
      unsubscribe();
      stopping.abort();
      endWait();
      await running;
    },
  };
}
