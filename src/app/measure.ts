/** Brings the gauges up to date before a scrape and renders all metrics. Each part has a limit: what the process knows by itself is served also
 * while the database, or the disk, does not answer. */
import { X509Certificate } from "node:crypto";
import { readFile, statfs } from "node:fs/promises";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import type { Sql } from "../store/db.ts";
import { queueDepth } from "../store/queue.ts";
import { nodesByRole } from "../store/workers.ts";
import { type Config, roles } from "./config.ts";
import { type NodeState, orAfter, type Readiness } from "./readiness.ts";

export type MeasureDeps = { config: Config; log: Log; metrics: Metrics; node: NodeState; readiness: Readiness };

/** Shorter than Prometheus waits for an answer (10 s). */
const withinMs = 5_000;

type Cluster = { depth: Awaited<ReturnType<typeof queueDepth>>; nodes: Map<string, number> };

export function createMeasure({ config, log, metrics, node, readiness }: MeasureDeps) {
  const others: (() => void)[] = [];
  let reading: Promise<Cluster | undefined> | undefined;
  let rendering: Promise<string> | undefined;
  metrics.buildInfo.set({ version: node.version }, 1);
  metrics.poolConnections.set({ state: "limit" }, config.databasePool);

  /** One reading at a time, however many scrapes wait for it. */
  function readCluster(sql: Sql): Promise<Cluster | undefined> {
    reading ??= Promise.all([queueDepth(sql), nodesByRole(sql)])
      .then(
        ([depth, nodes]) => ({ depth, nodes }),
        (error: Error) => void log.debug({ reason: error.message }, "the queue could not be measured"),
      )
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  async function measureDatabase(): Promise<void> {
    const { sql } = node;
    // A pool that is being closed refuses every question: nothing is known then.
    const open = sql !== undefined && node.phase !== "stopping";
    const up = open && (await readiness.database()) === "ok";
    metrics.databaseUp.set(up ? 1 : 0);
    metrics.poolConnections.set({ state: "open" }, sql?.pool.totalCount ?? 0);
    metrics.poolConnections.set({ state: "waiting" }, sql?.pool.waitingCount ?? 0);
    const cluster = up ? await orAfter(withinMs, readCluster(sql), undefined) : undefined;
    // Absent rather than stale: an old figure would look like a queue that stands still.
    if (!cluster) return forgetCluster();
    const { depth, nodes } = cluster;
    for (const state of ["due", "later", "leased"] as const) metrics.queueDepth.set({ state }, depth[state]);
    metrics.oldestDue.set(depth.oldestDueSeconds);
    for (const role of roles) metrics.roleNodes.set({ role }, nodes.get(role) ?? 0);
  }

  function forgetCluster(): void {
    metrics.queueDepth.reset();
    metrics.roleNodes.reset();
    metrics.oldestDue.remove();
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
    const pem = await orAfter(
      withinMs,
      readFile(config.tls.certFile).catch(() => undefined),
      undefined,
    );
    metrics.certificateExpiry.set(expirySeconds(pem));
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

/** The end of the certificate that is presented, which is the first one of the file. */
function expirySeconds(pem: Buffer | undefined): number {
  try {
    return pem ? Math.floor(Date.parse(new X509Certificate(pem).validTo) / 1000) : 0;
  } catch {
    return 0;
  }
}
