/** Brings the gauges up to date before a scrape and renders all metrics. Each part has a limit: what the process knows by itself is served also
 * while the database, or the disk, does not answer. */
import { readFile, statfs } from "node:fs/promises";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import { expirySeconds } from "../smtp/certificate.ts";
import type { Sql } from "../store/db.ts";
import { queueDepth } from "../store/queue.ts";
import { nodesByRole } from "../store/workers.ts";
import { type Config, roles } from "./config.ts";
import { type NodeState, orAfter, type Readiness } from "./readiness.ts";
import { createReading } from "./reading.ts";

export type MeasureDeps = {
  config: Config;
  log: Log;
  metrics: Metrics;
  node: NodeState;
  readiness: Readiness;
  /** How long a scrape waits for a figure; for tests. */
  withinMs?: number;
};

/** Shorter than Prometheus waits for an answer (10 s). */
const scrapeWithinMs = 5_000;
/** A queue that takes long to count keeps its last figures for this long. */
const keepMs = 600_000;

export function createMeasure({ config, log, metrics, node, readiness, withinMs = scrapeWithinMs }: MeasureDeps) {
  const others: (() => void)[] = [];
  let rendering: Promise<string> | undefined;
  metrics.buildInfo.set({ version: node.version }, 1);
  metrics.poolConnections.set({ state: "limit" }, config.databasePool);

  const fromDatabase = <T>(read: (sql: Sql) => Promise<T>, what: string) =>
    createReading({
      ...{ withinMs, keepMs, nowMs: () => performance.now() },
      read: async () => await read(node.sql!),
      onProblem: (error) => log.debug({ reason: error.message }, `cannot read ${what} for the metrics`),
    });
  const queue = fromDatabase(queueDepth, "the queue");
  const nodes = fromDatabase(nodesByRole, "the running nodes");

  async function measureDatabase(): Promise<void> {
    const { sql } = node;
    // A pool that is being closed refuses every statement.
    const open = sql !== undefined && node.phase !== "stopping";
    const up = open && (await readiness.database()) === "ok";
    metrics.databaseUp.set(up ? 1 : 0);
    metrics.poolConnections.set({ state: "open" }, sql?.pool.totalCount ?? 0);
    metrics.poolConnections.set({ state: "waiting" }, sql?.pool.waitingCount ?? 0);
    if (!up) return forgetCluster();
    await Promise.all([measureQueue(), measureNodes()]);
  }

  async function measureQueue(): Promise<void> {
    const taken = await queue.take();
    if (!taken) return forgetQueue();
    const { value, ageSeconds } = taken;
    for (const state of ["due", "later", "leased"] as const) metrics.queueDepth.set({ state }, value[state]);
    // Mail that waited at the last reading counts as waiting until the next one.
    const grown = (seconds: number) => (seconds > 0 ? seconds + ageSeconds : 0);
    metrics.oldestDue.set(grown(value.oldestDueSeconds));
    metrics.oldestBackingOff.set(grown(value.oldestBackingOffSeconds));
  }

  async function measureNodes(): Promise<void> {
    const taken = await nodes.take();
    if (!taken) return metrics.roleNodes.reset();
    for (const role of roles) metrics.roleNodes.set({ role }, taken.value.get(role) ?? 0);
  }

  function forgetQueue(): void {
    metrics.queueDepth.reset();
    metrics.oldestDue.remove();
    metrics.oldestBackingOff.remove();
  }

  /** Absent rather than stale while the database is away. */
  function forgetCluster(): void {
    forgetQueue();
    metrics.roleNodes.reset();
    for (const reading of [queue, nodes]) reading.forget();
  }

  async function measureDisk(): Promise<void> {
    const found = await orAfter(
      withinMs,
      statfs(config.dataDir).catch(() => undefined),
      undefined,
    );
    if (!found) {
      metrics.diskFree.remove();
      metrics.diskSize.remove();
      return;
    }
    metrics.diskFree.set(found.bavail * found.bsize);
    metrics.diskSize.set(found.blocks * found.bsize);
  }

  async function measureCertificate(): Promise<void> {
    if (!config.tls || !config.roles.has("inbound")) return metrics.certificateExpiry.remove();
    const pair = [config.tls.certFile, config.tls.keyFile].map((file) => readFile(file));
    const [cert, key] = await orAfter(
      withinMs,
      Promise.all(pair).catch(() => []),
      [],
    );
    metrics.certificateExpiry.set(cert && key ? expirySeconds({ cert, key }) : 0);
  }

  return {
    /** Called before each scrape, for figures that another part knows. */
    beforeScrape(set: () => void): void {
      others.push(set);
    },
    /** Scrapes that come together get the same text. */
    async metrics(): Promise<{ contentType: string; text: string }> {
      rendering ??= Promise.all([measureDatabase(), measureDisk(), measureCertificate()])
        .then(() => {
          for (const set of others) set();
          return metrics.registry.metrics();
        })
        .finally(() => {
          rendering = undefined;
        });
      return { contentType: metrics.registry.contentType, text: await rendering };
    },
  };
}
