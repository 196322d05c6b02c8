/** After a crash: marks the recipients in doubt that the dot journal of the previous process names, and clears its other leases of doubt.
 * Until then this node does not lease what that process held. Used by the delivery loop. */
import { rmSync } from "node:fs";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { Journal, LeftJournal } from "./journal.ts";
import { findLive, markDots } from "./store/doubts.ts";

export type Doubts = {
  /** Workers of the previous process whose leases must not be taken yet. */
  pending(): readonly number[];
  /** Marks the recipients as soon as the previous process counts as dead. Call it before each search for due mail. */
  resolve(): Promise<void>;
};

export function createDoubts(deps: {
  sql: Sql;
  log: Log;
  journal: Pick<Journal, "readLeft">;
  doubtScheduleMs: readonly number[];
}): Doubts {
  const { sql, log, journal, doubtScheduleMs: scheduleMs } = deps;
  const first = journal.readLeft();
  let pending = first.workers;
  if (pending.length === 0) removeFiles(first);

  return {
    pending: () => pending,
    async resolve() {
      if (pending.length === 0) return;
      try {
        // Only a dead worker sends no further dots, so the files are read again after that is known.
        if ((await findLive(sql, pending)).length > 0) return;
        const left = journal.readLeft();
        await markDots(sql, { workers: pending, dots: left.dots, scheduleMs });
        pending = [];
        removeFiles(left);
        log.info({ dots: left.dots.length }, "read the dot journal of the previous process");
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, "cannot mark recipients in doubt; this will be retried");
      }
    },
  };
}

function removeFiles({ paths }: LeftJournal): void {
  for (const path of paths) rmSync(path, { force: true });
}
