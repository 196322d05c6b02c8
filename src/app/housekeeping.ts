/** The quiet work of the store: partitions made ahead of need and dropped after their time, traces of the past removed. */
import type { Log } from "../ops/log.ts";
import type { Sql } from "../store/db.ts";
import { forgetSeen } from "../store/inbound.ts";
import { forgetStsPolicies } from "../store/mta-sts.ts";
import { ensurePartitions } from "../store/partitions.ts";
import { forgetEnded } from "../store/people.ts";
import { dropExpiredKeys, dropOldPartitions, type Retention } from "../store/retention.ts";
import { forgetSites } from "../store/sites.ts";
import { forgetStats } from "../store/stats.ts";
import { forgetDeadWorkers } from "../store/workers.ts";
import { createBackfills } from "./backfills.ts";

const everyMs = 10 * 60_000;

/** Every node may do this: each step is safe beside another node doing the same. */
export function createHousekeeping(deps: { sql: Sql; log: Log; retention: Retention }) {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const stopping = new AbortController();
  const backfills = createBackfills(deps);
  const work = async () => {
    try {
      await ensurePartitions(deps.sql, {
        onWait: (table, blocker) => deps.log.warn({ table, blocker }, "a new partition waits for a lock"),
        stop: stopping.signal,
      });
      await forgetDeadWorkers(deps.sql);
      await dropExpiredKeys(deps.sql);
      await forgetSeen(deps.sql);
      await forgetSites(deps.sql);
      await forgetStsPolicies(deps.sql);
      await forgetEnded(deps.sql);
      await forgetStats(deps.sql, deps.retention.historyDays);
      const dropped = await dropOldPartitions(deps.sql, deps.retention);
      if (dropped.length > 0) deps.log.info({ dropped }, "old partitions dropped");
    } catch (error) {
      if (stopping.signal.aborted) return;
      deps.log.warn({ err: error }, "housekeeping failed, will try again");
    }
  };
  return {
    start() {
      backfills.start();
      round = work();
      timer = setInterval(() => {
        round = round.then(work);
      }, everyMs);
    },
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await backfills.stop();
      await round;
    },
  };
}
