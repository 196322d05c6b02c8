/** Counts what attempts come to: how many, how long, how many at this moment. Wrapped around `attempt` by the wiring. */
import type { Metrics } from "../ops/metrics.ts";
import type { Attempt } from "./loop.ts";

export function measured(attempt: Attempt, metrics: Metrics): Attempt {
  return async (rows, signal, site) => {
    const end = metrics.deliverySeconds.startTimer();
    metrics.deliveriesInHand.inc(rows.length);
    try {
      const results = await attempt(rows, signal, site);
      for (const result of results) metrics.deliveryAttempts.inc({ outcome: result?.status ?? "released" });
      return results;
    } finally {
      metrics.deliveriesInHand.dec(rows.length);
      end();
    }
  };
}
