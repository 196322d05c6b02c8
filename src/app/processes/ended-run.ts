/** Ends the leases of a process that has ended, so that the others take over its work at once. Called by supervisor.ts. */
import { rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { readBootId, readJournals } from "../../delivery/journal.ts";
import { markDots } from "../../delivery/store/doubts.ts";
import type { Log } from "../../ops/log.ts";
import type { Sql } from "../../postgres/pool.ts";
import { forgetRun } from "../../postgres/workers.ts";
import type { Config } from "../config.ts";
import { journalFolder } from "../files.ts";

export type EndRunDeps = { sql: Sql; log: Log; config: Config; stop: AbortSignal };

const retryMs = 1_000;

/** Returns when the database has recorded it. While the database is away, the leases end by the missing heartbeats. */
export async function endRun({ sql, log, config, stop }: EndRunDeps, run: string): Promise<void> {
  for (;;) {
    try {
      return await end(sql, config, run);
    } catch (error) {
      log.warn({ reason: (error as Error).message }, "cannot end the leases of a process yet; this will be retried");
    }
    await delay(retryMs, undefined, { signal: stop }).catch(() => {});
    if (stop.aborted) return;
  }
}

async function end(sql: Sql, config: Config, run: string): Promise<void> {
  const left = readJournals(journalFolder(config.dataDir), { bootId: readBootId() });
  // In one transaction: another process that takes a lease in between would have to doubt every recipient.
  const alive = await sql.begin(async (tx) => {
    await forgetRun(tx, run);
    return await markDots(tx, {
      workers: left.workers,
      dots: left.dots,
      scheduleMs: config.retry.doubtScheduleMs,
    });
  });
  // Files of a program that ran here before count until its heartbeats are missed.
  if (alive.length === 0) for (const path of left.paths) rmSync(path, { force: true });
}
