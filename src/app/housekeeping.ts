/** The quiet work of the store: partitions made ahead of need, traces of dead programs removed. */
import type { Log } from "../ops/log.ts";
import type { Sql } from "../store/db.ts";
import { ensurePartitions } from "../store/partitions.ts";
import { forgetDeadWorkers } from "../store/workers.ts";

const everyMs = 10 * 60_000;

export function createHousekeeping(deps: { sql: Sql; log: Log }) {
  let timer: NodeJS.Timeout | undefined;
  const round = async () => {
    try {
      await ensurePartitions(deps.sql);
      await forgetDeadWorkers(deps.sql);
    } catch (error) {
      deps.log.warn({ err: error }, "housekeeping failed, will try again");
    }
  };
  return {
    async start() {
      await round();
      timer = setInterval(round, everyMs);
    },
    async stop() {
      clearInterval(timer);
    },
  };
}
