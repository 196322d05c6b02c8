/** A loop that repeats a round of work after a pause and survives its errors. Used by watch.ts and brake-loop.ts. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway } from "../postgres/pool.ts";

export type PeriodicOptions = {
  log: Log;
  everyMs: number;
  /** For the log. */
  name: string;
  /** True: there is more to do; the next round follows at once. */
  round(): Promise<boolean>;
};

export function createPeriodic({ log, everyMs, name, round }: PeriodicOptions) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        if (await round()) continue;
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, `${name} failed; will retry`);
      }
      await delay(everyMs, undefined, { signal }).catch(() => {});
    }
  }

  return {
    start(): void {
      running = run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
