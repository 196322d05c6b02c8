/** Wires readiness, metrics and the operations port that serves them. Called by assemble.ts. */
import type { HealthPageDeps } from "../../http/health.ts";
import type { Log } from "../../ops/log.ts";
import type { Metrics } from "../../ops/metrics.ts";
import { type Config, defaultOpsPort } from "../config.ts";
import { createMeasure } from "../measure.ts";
import { createOpsListener } from "../ops-listener.ts";
import { createReadiness, type NodeState } from "../readiness.ts";

export type OpsDeps = { config: Config; log: Log; metrics: Metrics; node: NodeState };

export type Ops = {
  /** Health pages on the API's port use this. */
  health: HealthPageDeps;
  /** Registers a function that sets another part's gauges before each scrape. */
  beforeScrape(set: () => void): void;
  /** Warns if the default port was taken. Called after the store is open, so that a program that cannot start prints only the reason. */
  announce(): void;
  stop(): Promise<void>;
};

export function createOpsParts({ config, log, metrics, node }: OpsDeps) {
  const readiness = createReadiness(node);
  return { readiness, measure: createMeasure({ config, log, metrics, node, readiness }) };
}

export async function startOps(deps: OpsDeps): Promise<Ops> {
  const { config, log, node } = deps;
  const { readiness, measure } = createOpsParts(deps);
  const { details } = readiness;
  const listener = createOpsListener({
    ...config.ops,
    log,
    token: config.metricsToken,
    details,
    metrics: measure.metrics,
  });
  const port = await listener.start();
  node.ports.ops = port;
  return {
    health: {
      metricsToken: config.metricsToken,
      ready: async () => (await details()).ready,
      metrics: measure.metrics,
    },
    beforeScrape: measure.beforeScrape,
    announce: () => announcePort({ config, log, port }),
    stop: listener.stop,
  };
}

export function announcePort({ config, log, port }: Pick<OpsDeps, "config" | "log"> & { port: number }): void {
  if (config.ops.chosen || port === defaultOpsPort) return;
  log.warn(
    { port, taken: defaultOpsPort },
    `port ${defaultOpsPort} is taken: health and metrics of this node are on ${config.ops.host}:${port}; set POSTHORN_OPS to choose a port`,
  );
}
