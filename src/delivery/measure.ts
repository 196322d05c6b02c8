/** Records metrics about attempts: outcomes, durations and the number in progress. app/assemble/delivery.ts wraps the attempt in it. */
import type { Metrics, SiteOutcome } from "../ops/metrics.ts";
import type { DeliveryAttempt } from "./loop.ts";
import type { RecipientStatus } from "./rules/recipient-status.ts";

/** The statuses that count in the statistics of a site. */
const siteOutcome: Partial<Record<RecipientStatus, SiteOutcome>> = {
  delivered: "accepted",
  sent: "accepted",
  delayed: "deferred",
  bounced: "bounced",
  failed: "failed",
};

export function measured(attempt: DeliveryAttempt, metrics: Metrics): DeliveryAttempt {
  return async (row, run) => {
    const end = metrics.deliverySeconds.startTimer();
    metrics.deliveriesInHand.inc();
    try {
      const result = await attempt(row, run);
      const settled = result && "status" in result ? result : undefined;
      metrics.deliveryAttempts.inc({ outcome: settled?.status ?? "released" });
      const outcome = settled && siteOutcome[settled.status];
      if (outcome) metrics.countSite(run.site ?? row.destination, outcome, performance.now());
      return result;
    } finally {
      metrics.deliveriesInHand.dec();
      end();
    }
  };
}
