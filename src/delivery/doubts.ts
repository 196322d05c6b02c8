/** After a crash: marks the recipients in doubt that the dot journal of the previous process names, and clears its other leases of doubt.
 * Until then this node does not lease what that process held. Used by the delivery loop. */
import { rmSync } from "node:fs";
import type { Log } from "../ops/log.ts";
import { isDatabaseAway, type Sql } from "../postgres/pool.ts";
import type { LeftJournal } from "./journal.ts";
import { markDots } from "./store/doubts.ts";

export type Doubts = {
  /** Workers of the previous process whose leases must not be taken yet. */
  pending(): readonly number[];
  /** Marks what can be marked. Call it before each search for due mail. */
  resolve(): Promise<void>;
};

export function createDoubts(deps: {
  sql: Sql;
  log: Log;
  left: LeftJournal;
  doubtScheduleMs: readonly number[];
}): Doubts {
  const { sql, log, left } = deps;
  let pending = left.workers;
  if (pending.length === 0) removeFiles(left);

  return {
    pending: () => pending,
    async resolve() {
      if (pending.length === 0) return;
      try {
        const alive = await markDots(sql, { workers: pending, dots: left.dots, scheduleMs: deps.doubtScheduleMs });
        pending = pending.filter((id) => alive.includes(id));
        if (pending.length > 0) return;
        removeFiles(left);
        log.info(
          { workers: left.workers.length, dots: left.dots.length },
          "read the dot journal of the previous process",
        );
      } catch (error) {
        if (!isDatabaseAway(error)) log.error({ err: error }, "cannot mark recipients in doubt; this will be retried");
      }
    },
  };
}

function removeFiles({ paths }: LeftJournal): void {
  for (const path of paths) rmSync(path, { force: true });
}
