/** The loop that runs backfills, as a part of housekeeping: small batches with a pause after each, so that mail goes first. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { type Backfill, backfills, runBatch } from "../store/backfill.ts";
import type { Sql } from "../store/db.ts";

export type BackfillDeps = {
  sql: Sql;
  log: Log;
  /** For tests; those of the program otherwise. */
  backfills?: readonly Backfill[];
  batchRows?: number;
  shortestPauseMs?: number;
  /** How soon it looks again at a backfill that cannot go on now. */
  lookAgainMs?: number;
};

const sayEveryMs = 30_000;

export function createBackfills(deps: BackfillDeps) {
  const { sql, log, batchRows = 500, shortestPauseMs = 100, lookAgainMs = 60_000 } = deps;
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();

  const pause = async (ms: number) => {
    await delay(ms, undefined, { signal: stopping.signal }).catch(() => {});
  };

  /** Returns at the end, or when it cannot go on at this moment. */
  async function runToEnd(backfill: Backfill): Promise<void> {
    let saidAt = Number.NEGATIVE_INFINITY;
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
      if (performance.now() - saidAt > sayEveryMs) {
        log.info({ backfill: name, rows: result.total }, "backfill in progress");
        saidAt = performance.now();
      }
      // At least as long as the batch took: a backfill takes at most half of one connection's time.
      await pause(Math.max(shortestPauseMs, performance.now() - began));
    }
  }

  async function work(): Promise<void> {
    while (!stopping.signal.aborted) {
      for (const backfill of deps.backfills ?? backfills) {
        await runToEnd(backfill).catch((error) => {
          log.warn({ err: error, backfill: backfill.name }, "a backfill failed, it goes on where it was");
        });
      }
      // Finished ones too: a node with an older program may have come back, which opens them again.
      await pause(lookAgainMs);
    }
  }

  return {
    start() {
      if ((deps.backfills ?? backfills).length > 0) running = work();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
