/** Indexes accepted emails for searches (store/terms.ts) every second, on every housekeeping node. Started by app/assemble.ts. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import { indexArrivals, nextArrivals } from "./store/terms.ts";

const everyMs = 1_000;
const atOnce = { workspaces: 10, arrivals: 10 };
/** After an error, so that emails that cannot be indexed delay no others. */
const oneByOne = { workspaces: 1, arrivals: 1 };

export function createTermLoop({ sql, log }: { sql: Sql; log: Log }) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    let after: string | undefined;
    let hasFailed = false;
    while (!signal.aborted) {
      const began = performance.now();
      let pauseMs = everyMs;
      try {
        const result = await indexArrivals(sql, { after, ...(hasFailed ? oneByOne : atOnce) });
        after = result.after;
        if (after === undefined) hasFailed = false;
        // Pauses for longer than it worked, so that accepting and delivering have priority.
        if (result.behind) pauseMs = Math.min(2 * (performance.now() - began), everyMs);
      } catch (error) {
        if (!isDatabaseAway(error)) {
          log.error({ err: error, workspace: after }, "indexing emails for searches failed; will retry");
          // The emails of the next workspace cannot be indexed: goes on with those of the others.
          if (hasFailed) after = await nextArrivals(sql, after).catch(() => undefined);
          hasFailed = after !== undefined || !hasFailed;
        }
      }
      await delay(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  return {
    start() {
      running = run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
