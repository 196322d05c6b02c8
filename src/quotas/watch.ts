/** Looks every few seconds for workspaces that come close to a quota, shares the counts of open streams between nodes, and sends the mail
 * to owners. Runs on every node with the role api. Started by app/assemble.ts. */
import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import { type OwnerMailer, sendOwnerMails } from "./owner-mail.ts";
import { createPeriodic } from "./periodic.ts";
import type { Quotas } from "./quotas.ts";
import { findNearLimits } from "./store/usage.ts";
import type { StreamQuota } from "./streams.ts";

const everyMs = 2000;

export function createQuotaWatch(deps: {
  sql: Sql;
  log: Log;
  quotas: Quotas;
  streams: StreamQuota;
  mail: OwnerMailer;
}) {
  const { sql, log, quotas, streams, mail } = deps;
  const loop = createPeriodic({
    log,
    everyMs,
    name: "watching the quotas",
    async round() {
      await streams.sync();
      const near = await findNearLimits(sql, quotas.defaults);
      if (near.length > 0) await quotas.reviewNow(near);
      await sendOwnerMails({ sql, log, mail });
      return false;
    },
  });
  return {
    start: loop.start,
    async stop(): Promise<void> {
      await loop.stop();
      await streams.stop();
      await quotas.idle();
    },
  };
}
