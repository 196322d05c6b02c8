/** Keeps the figures over time up to date: every few seconds, on every housekeeping node, new mail is counted. Nobody waits for it. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import type { Clock } from "../store/clock.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import { foldStats } from "../store/stats-fold.ts";

const everyMs = 3_000;
/** What one turn takes: short enough to hold nobody up. */
const atOnce = { workspaces: 100, rows: 5_000 };

export function createCounter(deps: { sql: Sql; log: Log; clock: Clock }) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const { behind } = await foldStats(deps.sql, { nowMs: deps.clock.nowMs(), ...atOnce });
        if (behind) continue;
      } catch (error) {
        if (!isDatabaseAway(error)) deps.log.error({ err: error }, "counting mail failed and goes on");
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
