/** Updates the gauges before a scrape and renders all metrics; ops-listener.ts and the API's /metrics serve them. Each source has a time
 * limit, so that the process's own metrics are served even while the database or the disk does not answer. */
import { readFile, statfs } from "node:fs/promises";
import { storeOutages } from "../objects/store-error.ts";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import { outages } from "../postgres/outage.ts";
import type { Sql } from "../postgres/pool.ts";
import { nodesByRole } from "../postgres/workers.ts";
import { queueDepth } from "../queue/store.ts";
import { expirySeconds } from "../smtp/server/certificate.ts";
import type { Config } from "./config.ts";
import { type NodeState, type Readiness, withTimeout } from "./readiness.ts";
import { roles } from "./settings.ts";

export type MeasureDeps = {
  config: Config;
  log: Log;
  metrics: Metrics;
  node: NodeState;
  readiness: Readiness;
  /** How long a scrape waits for one value. For tests. */
  withinMs?: number;
};

/** Shorter than Prometheus's default scrape timeout (10 s). */
const scrapeWithinMs = 5_000;
/** While the queue takes long to count, its last values are served for this long. */
const keepMs = 600_000;

export function createMeasure({ config, log, metrics, node, readiness, withinMs = scrapeWithinMs }: MeasureDeps) {
  const setters: (() => void)[] = [];
  let rendering: Promise<string> | undefined;
  metrics.buildInfo.set({ version: node.version }, 1);
  metrics.poolConnections.set({ state: "limit" }, config.databasePool);

  const fromDatabase = <T>(read: (sql: Sql) => Promise<T>, what: string) =>
    createReading({
      withinMs,
      keepMs,
      nowMs: () => performance.now(),
      read: async () => await read(node.sql!),
      onProblem: (error) => log.debug({ reason: error.message }, `cannot read ${what} for the metrics`),
    });
  const queue = fromDatabase(queueDepth, "the queue");
  const nodes = fromDatabase(nodesByRole, "the running nodes");

  async function measureDatabase(): Promise<void> {
    const { sql } = node;
    // A closing pool rejects every statement.
    const open = sql !== undefined && node.phase !== "stopping";
    const up = open && (await readiness.databaseAnswers());
    metrics.databaseUp.set(up ? 1 : 0);
    measureProblems();
    measureObjects();
    metrics.poolConnections.set({ state: "open" }, sql?.pool.totalCount ?? 0);
    metrics.poolConnections.set({ state: "waiting" }, sql?.waiting() ?? 0);
    if (!up) return forgetCluster();
    await Promise.all([measureQueue(), measureNodes()]);
  }

  const counted = new Map<string, number>();
  let countedSwitches = 0;

  function measureProblems(): void {
    const health = node.sql?.health;
    const switches = node.sql?.hosts.switches() ?? 0;
    metrics.databaseSwitches.inc(switches - countedSwitches);
    countedSwitches = switches;
    for (const { state } of outages) {
      metrics.databaseProblem.set({ reason: state }, health?.problem()?.state === state ? 1 : 0);
      const failures = health?.failures().get(state) ?? 0;
      metrics.databaseFailures.inc({ reason: state }, failures - (counted.get(state) ?? 0));
      counted.set(state, failures);
    }
  }

  const countedObjects = new Map<string, number>();

  function measureObjects(): void {
    const { contents } = node;
    if (!contents) return;
    const kind = contents.problem()?.kind;
    for (const [name, { state }] of Object.entries(storeOutages)) {
      metrics.objectStorageProblem.set({ reason: state }, name === kind ? 1 : 0);
      const failures = contents.failures().get(state) ?? 0;
      metrics.objectStorageFailures.inc({ reason: state }, failures - (countedObjects.get(state) ?? 0));
      countedObjects.set(state, failures);
    }
  }

  async function measureQueue(): Promise<void> {
    const taken = await queue.take();
    if (!taken) return forgetQueue();
    const { value, ageSeconds } = taken;
    for (const state of ["due", "later", "leased"] as const) metrics.queueDepth.set({ state }, value[state]);
    // Mail that waited at the last reading still counts as waiting, so its age grows until the next one.
    const aged = (seconds: number) => (seconds > 0 ? seconds + ageSeconds : 0);
    metrics.oldestDue.set(aged(value.oldestDueSeconds));
    metrics.oldestBackingOff.set(aged(value.oldestBackingOffSeconds));
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

  /** While the database does not answer, these gauges are absent rather than stale. */
  function forgetCluster(): void {
    forgetQueue();
    metrics.roleNodes.reset();
    for (const reading of [queue, nodes]) reading.forget();
  }

  async function measureDisk(): Promise<void> {
    const found = await withTimeout(
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
    const [cert, key] = await withTimeout(
      withinMs,
      Promise.all(pair).catch(() => []),
      [],
    );
    metrics.certificateExpiry.set(cert && key ? expirySeconds({ cert, key }) : 0);
  }

  async function update(): Promise<void> {
    await Promise.all([measureDatabase(), measureDisk(), measureCertificate()]);
    for (const set of setters) set();
  }

  return {
    /** Registers a function that sets another part's gauges before each scrape. */
    beforeScrape(set: () => void): void {
      setters.push(set);
    },
    /** Sets all gauges. */
    update,
    /** Concurrent scrapes share one rendering. */
    async metrics(): Promise<{ contentType: string; text: string }> {
      rendering ??= update()
        .then(() => metrics.registry.metrics())
        .finally(() => {
          rendering = undefined;
        });
      return { contentType: metrics.registry.contentType, text: await rendering };
    },
  };
}

export type ReadingOptions<T> = {
  read(): Promise<T>;
  /** How long `take` waits. A slower read continues and serves a later call. */
  withinMs: number;
  /** `take` does not return a value older than this. */
  keepMs: number;
  /** A monotonic clock. */
  nowMs(): number;
  onProblem(error: Error): void;
};

export type Reading<T> = {
  /** The newest value and its age; undefined if there is none, or only one older than `keepMs`. */
  take(): Promise<{ value: T; ageSeconds: number } | undefined>;
  forget(): void;
};

/** A value that is slow to read: one read at a time, and the last value while the next read is late or fails. */
export function createReading<T>({ read, withinMs, keepMs, nowMs, onProblem }: ReadingOptions<T>): Reading<T> {
  let last: { value: T; atMs: number } | undefined;
  let reading: Promise<void> | undefined;

  function start(): Promise<void> {
    const atMs = nowMs();
    return read()
      .then((value) => {
        last = { value, atMs };
      }, onProblem)
      .finally(() => {
        reading = undefined;
      });
  }

  return {
    async take() {
      reading ??= start();
      await withTimeout(withinMs, reading, undefined);
      const ageMs = last ? nowMs() - last.atMs : 0;
      return last && ageMs <= keepMs ? { value: last.value, ageSeconds: ageMs / 1000 } : undefined;
    },
    forget() {
      last = undefined;
    },
  };
}
