/** Adds up the metrics of all processes. Counts of processes that have ended stay in the sum, because a counter that falls looks like a restart
 * of the whole program. Used by supervisor.ts. */
import { AggregatorRegistry } from "prom-client";
import type { MetricJson } from "./messages.ts";

type Aggregated = { metrics(): Promise<string>; getMetricsAsJSON(): Promise<MetricJson[]> };

export type MetricsSum = {
  /** The metrics of a process, as it last reported them. */
  note(run: string, metrics: MetricJson[]): void;
  /** The process has ended. */
  end(run: string): void;
  /** In the Prometheus format; `own` are those of the supervisor. */
  render(runs: readonly string[], own: readonly MetricJson[]): Promise<string>;
};

export function createMetricsSum(): MetricsSum {
  const last = new Map<string, MetricJson[]>();
  let ended: MetricJson[] = [];
  /** One after the other, so that no count is lost. */
  let adding: Promise<void> = Promise.resolve();

  return {
    note: (run, metrics) => void last.set(run, metrics),
    end(run) {
      const metrics = last.get(run);
      if (!last.delete(run)) return;
      const counts = metrics!.filter(({ type }) => type === "counter" || type === "histogram");
      adding = adding.then(async () => {
        ended = await aggregate([ended, counts]).getMetricsAsJSON();
      });
    },
    async render(runs, own) {
      await adding;
      const known = runs.flatMap((run) => (last.has(run) ? [last.get(run)!] : []));
      return await aggregate([...known, ended, [...own]]).metrics();
    },
  };
}

function aggregate(parts: MetricJson[][]): Aggregated {
  return AggregatorRegistry.aggregate(parts as never) as unknown as Aggregated;
}
