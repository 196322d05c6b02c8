/** Counts what attempts come to: how many, how long, how many at this moment. Wrapped around `attempt` by the wiring. */
import type { Metrics, SiteOutcome } from "../ops/metrics.ts";
import type { RecipientStatus } from "../rules/recipient-status.ts";
import type { Attempt } from "./loop.ts";

/** Statuses that say something about the receiver. */
const siteOutcome: Partial<Record<RecipientStatus, SiteOutcome>> = {
  delivered: "accepted",
  sent: "accepted",
  delayed: "deferred",
  bounced: "bounced",
  failed: "failed",
};

export function measured(attempt: Attempt, metrics: Metrics): Attempt {
  return async (rows, signal, site) => {
    const end = metrics.deliverySeconds.startTimer();
    metrics.deliveriesInHand.inc(rows.length);
    try {
      const results = await attempt(rows, signal, site);
      for (const result of results) {
        metrics.deliveryAttempts.inc({ outcome: result?.status ?? "released" });
        const outcome = result && siteOutcome[result.status];
        if (outcome) metrics.countSite(site ?? rows[0]!.destination, outcome, Date.now());
      }
      return results;
    } finally {
      metrics.deliveriesInHand.dec(rows.length);
      end();
    }
  };
}
