/** Periodic maintenance of the store: creates partitions ahead of time, drops old ones, deletes expired rows, runs backfills.
 * Started by assemble.ts in the role housekeeping. */

import { forgetEntries } from "../audit/store.ts";
import { forgetReadJournals } from "../delivery/store/doubts.ts";
import { forgetStsPolicies } from "../delivery/store/mta-sts.ts";
import { forgetSites } from "../delivery/store/sites.ts";
import { forgetWordings } from "../delivery/store/wordings.ts";
import { forgetKeptKeys } from "../domains/store/dkim-keys.ts";
import { correctList, type ListPosition } from "../emails/store/outcome-backfills.ts";
import { forgetSeen } from "../inbound/store/inbound.ts";
import { forgetUnattributed } from "../inbound/store/unattributed.ts";
import { forgetDroppedObjects } from "../objects/retention.ts";
import { forgetDeletions } from "../operators/store/deletion.ts";
import type { Log } from "../ops/log.ts";
import { deleteExpired } from "../people/store.ts";
import { ensurePartitions } from "../postgres/partitions.ts";
import type { Sql } from "../postgres/pool.ts";
import { dropExpiredKeys, dropOldPartitions, oldestEmailsAt, type Retention } from "../postgres/retention.ts";
import { forgetDeadWorkers } from "../postgres/workers.ts";
import { forgetDroppedContent } from "../quotas/store/standing.ts";
import { forgetReports } from "../reports/store/forget.ts";
import { forgetGroups } from "../stats/store/groups.ts";
import { forgetStats } from "../stats/store/stats.ts";
import { createBackfills } from "./backfills.ts";

const everyMs = 10 * 60_000;
/** So many rows of the lists of outcomes are checked in one round. */
const outcomes = { pages: 50, rows: 1_000 };

/** Several nodes may run this at once: each step is safe while another node does the same. */
export function createHousekeeping(deps: { sql: Sql; log: Log; retention: Retention & { reportDays: number } }) {
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> = Promise.resolve();
  const stopping = new AbortController();
  const backfills = createBackfills(deps);
  let checkedTo: ListPosition | undefined;
  const correctOutcomes = async () => {
    for (let page = 0; page < outcomes.pages && !stopping.signal.aborted; page++) {
      checkedTo = (await correctList(deps.sql, checkedTo, outcomes.rows)).next;
      if (!checkedTo) return;
    }
  };
  const work = async () => {
    try {
      await ensurePartitions(deps.sql, {
        onWait: (table, blocker) => deps.log.warn({ table, blocker }, "creating a partition waits for a lock"),
        stop: stopping.signal,
      });
      await forgetDeadWorkers(deps.sql);
      await dropExpiredKeys(deps.sql);
      await forgetSeen(deps.sql);
      await forgetUnattributed(deps.sql, deps.retention.historyDays);
      await forgetSites(deps.sql);
      await forgetWordings(deps.sql);
      await forgetReadJournals(deps.sql);
      await forgetStsPolicies(deps.sql);
      await deleteExpired(deps.sql);
      await forgetReports(deps.sql, deps.retention.reportDays);
      await forgetEntries(deps.sql, deps.retention.historyDays);
      await forgetKeptKeys(deps.sql);
      await forgetDeletions(deps.sql);
      const dropped = await dropOldPartitions(deps.sql, deps.retention);
      await forgetDroppedObjects(deps.sql, stopping.signal);
      await correctOutcomes();
      await forgetDroppedContent(deps.sql);
      const oldest = await oldestEmailsAt(deps.sql);
      await forgetStats(deps.sql, oldest);
      await forgetGroups(deps.sql, oldest);
      if (dropped.length > 0) deps.log.info({ dropped }, "old partitions dropped");
    } catch (error) {
      if (stopping.signal.aborted) return;
      deps.log.warn({ err: error }, "housekeeping failed; will retry");
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
