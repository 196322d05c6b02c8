/** Counts new mail into the statistics every few seconds, on every housekeeping node. Started by app/assemble.ts. */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import { foldStats } from "./store/fold.ts";

const everyMs = 3_000;
/** The size of one fold, small enough to keep its locks short. */
const atOnce = { workspaces: 100, rows: 5_000 };

export function createCountLoop(deps: { sql: Sql; log: Log; clock: Clock }) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const { behind } = await foldStats(deps.sql, { nowMs: deps.clock.nowMs(), ...atOnce });
        if (behind) continue;
      } catch (error) {
        if (!isDatabaseAway(error))
          deps.log.error({ err: error }, "counting mail for the statistics failed; will retry");
      }
      await delay(everyMs, undefined, { signal }).catch(() => {});
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
