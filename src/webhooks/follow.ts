/** Keeps webhooks at the end of the event log: whenever there is news, on any node, deliveries are made of it. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import type { Wake } from "../store/wake.ts";
import { followLog } from "../store/webhook-follow.ts";

/** Wake-ups are hints; this often the log is looked at anyway. */
const pollMs = 1000;
/** Events come in swarms: this long they may gather, so that one statement serves many. */
const gatherMs = 40;
const atOnce = { webhooks: 50, events: 200 };

export function createFollower(deps: { sql: Sql; log: Log; wake: Wake; nowMs: () => number; onAdded(): void }) {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let unsubscribe = () => {};
  let news = true;
  let stir = () => {};

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        if (!news) await rest();
        news = false;
        const { added, behind } = await followLog(deps.sql, { nowMs: deps.nowMs(), ...atOnce });
        if (added > 0) deps.onAdded();
        if (behind) news = true;
        else await delay(gatherMs, undefined, { signal: stopping.signal }).catch(() => {});
      } catch (error) {
        if (!isDatabaseAway(error)) deps.log.error({ err: error }, "following the log for webhooks failed and goes on");
        await delay(500, undefined, { signal: stopping.signal }).catch(() => {});
        news = true;
      }
    }
  }

  async function rest(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pollMs);
      stir = () => {
        clearTimeout(timer);
        resolve();
      };
      if (news || stopping.signal.aborted) stir();
    });
    stir = () => {};
  }

  return {
    start() {
      unsubscribe = deps.wake.on("events", () => {
        news = true;
        stir();
      });
      running = run();
    },
    async stop(): Promise<void> {
      unsubscribe();
      stopping.abort();
      stir();
      await running;
    },
  };
}
