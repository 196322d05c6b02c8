/** Runs backfills in small batches with a pause after each, so that mail has priority. Part of housekeeping. */
import { setTimeout as delay } from "node:timers/promises";
import { complaintsOfEarlierEmails, outcomesOfEarlierEmails } from "../emails/store/outcome-backfills.ts";
import { sitesOfEarlierEmails } from "../emails/store/sites.ts";
import { termsOfEarlierEmails } from "../emails/store/terms.ts";
import type { Log } from "../ops/log.ts";
import { type Backfill, runBatch } from "../postgres/backfill.ts";
import type { Sql } from "../postgres/pool.ts";

/** Every backfill of the program, oldest first. A finished one may stay: it costs one read of its row. */
export const backfills: readonly Backfill[] = [
  outcomesOfEarlierEmails,
  complaintsOfEarlierEmails,
  termsOfEarlierEmails,
  sitesOfEarlierEmails,
];

export type BackfillDeps = {
  sql: Sql;
  log: Log;
  /** Default: the program's own. For tests. */
  backfills?: readonly Backfill[];
  batchRows?: number;
  shortestPauseMs?: number;
  /** How long to wait before checking again for backfills that can run. */
  recheckMs?: number;
};

const logEveryMs = 30_000;

export function createBackfills(deps: BackfillDeps) {
  const { sql, log, batchRows = 500, shortestPauseMs = 100, recheckMs = 60_000 } = deps;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const pause = async (ms: number) => {
    await delay(ms, undefined, { signal: stopping.signal }).catch(() => {});
  };

  /** Returns when the backfill is finished or cannot run now. */
  async function runToEnd(backfill: Backfill): Promise<void> {
    let loggedAtMs = Number.NEGATIVE_INFINITY;
    while (!stopping.signal.aborted) {
      const began = performance.now();
      const result = await runBatch(sql, backfill, batchRows);
      const name = backfill.name;
      if (result.kind === "nothing" || result.kind === "busy") return;
      if (result.kind === "waits") {
        log.info(
          { backfill: name, nodes: result.nodes },
          "a backfill waits until the nodes with an older program are upgraded",
        );
        return;
      }
      if (result.kind === "finished") {
        log.info({ backfill: name, rows: result.total }, "backfill finished");
        return;
      }
      if (performance.now() - loggedAtMs > logEveryMs) {
        log.info({ backfill: name, rows: result.total }, "backfill in progress");
        loggedAtMs = performance.now();
      }
      // Pause at least as long as the batch took, so that a backfill uses at most half of one connection's time.
      await pause(Math.max(shortestPauseMs, performance.now() - began));
    }
  }

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const backfill of deps.backfills ?? backfills) {
        await runToEnd(backfill).catch((error) => {
          log.warn({ err: error, backfill: backfill.name }, "a backfill failed; it will resume where it stopped");
        });
      }
      // Also check finished backfills: a node with an older program reopens them when it starts again.
      await pause(recheckMs);
    }
  }

  return {
    start() {
      running = work();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
