/** What the operations port shows of all processes together: /readyz and /metrics. Used by supervisor.ts. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Details, InHand, NodeState, Readiness } from "../readiness.ts";
import type { MetricJson } from "./messages.ts";
import { createMetricsSum } from "./metrics-sum.ts";
import type { Run } from "./run.ts";
import type { Slot } from "./slot.ts";

export type OverviewDeps = { node: NodeState; readiness: Readiness; slots: readonly Slot[]; count: number };

/** A check of the database takes up to two seconds. */
const detailsWithinMs = 4_000;
/** Shorter than Prometheus's default scrape timeout (10 s). */
const metricsWithinMs = 8_000;
/** As a single program shows. */
const shownSites = 20;

export function createOverview({ node, readiness, slots, count }: OverviewDeps) {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: "posthorn_supervisor_" });
  const processes = new Gauge({
    name: "posthorn_processes",
    help: "Processes of this program: configured with POSTHORN_PROCESSES, and running now.",
    labelNames: ["state"],
    registers,
  });
  const restarts = new Counter({
    name: "posthorn_process_restarts_total",
    help: "Processes that ended unexpectedly and were started again.",
    registers,
  });
  const sum = createMetricsSum();
  let rendering: Promise<string> | undefined;
  let looking: Promise<Details> | undefined;

  const serving = () => slots.flatMap((slot) => slot.serving() ?? []);

  async function render(): Promise<string> {
    const runs = slots.flatMap((slot) => slot.runs());
    await Promise.all(
      runs.map(async (run) => {
        // One that does not answer keeps its last counts.
        const metrics = await run.ask("metrics", metricsWithinMs).catch(() => undefined);
        if (metrics) sum.note(run.name, metrics);
      }),
    );
    processes.set({ state: "configured" }, count);
    processes.set({ state: "running" }, serving().length);
    const own = (await registry.getMetricsAsJSON()) as unknown as MetricJson[];
    return await sum.render(
      runs.map(({ name }) => name),
      own,
    );
  }

  async function look(): Promise<Details> {
    const [own, answers] = await Promise.all([
      readiness.details(),
      Promise.all(
        serving().map(async (run) => [run, await run.ask("details", detailsWithinMs).catch(() => undefined)] as const),
      ),
    ]);
    const byRun = new Map(answers);
    const known = [...byRun.values()].filter((details) => details !== undefined);
    const someReady = known.some(({ ready }) => ready);
    const best = known.find(({ ready }) => ready) ?? known[0];
    const checks = {
      ...own.checks,
      ...(best?.checks.secret !== undefined && { secret: best.checks.secret }),
      ...(node.phase === "running" && !best && { program: "no process is running" }),
    };
    const inHand = known.flatMap(({ delivery }) => delivery ?? []);
    return {
      ...own,
      ready: own.ready && someReady,
      checks,
      ...(inHand.length > 0 && { delivery: addUp(inHand) }),
      processes: slots.map((slot) => slot.state((run) => byRun.get(run)?.ready === true)),
    };
  }

  return {
    /** Ready while at least one process is. Concurrent callers share one answer: anyone may ask for /readyz on the API port. */
    async details(): Promise<Details> {
      looking ??= look().finally(() => {
        looking = undefined;
      });
      return await looking;
    },
    /** Concurrent scrapes share one rendering. */
    async metrics(): Promise<{ contentType: string; text: string }> {
      rendering ??= render().finally(() => {
        rendering = undefined;
      });
      return { contentType: registry.contentType, text: await rendering };
    },
    countRestart: () => restarts.inc(),
    /** What a stopping process has counted. */
    note(run: Run, metrics: MetricJson[]): void {
      if (slots.some((slot) => slot.runs().includes(run))) sum.note(run.name, metrics);
    },
    ended: (run: Run) => sum.end(run.name),
  };
}

function addUp(parts: readonly InHand[]): InHand {
  const sites = new Map<string, InHand["sites"][number]>();
  for (const one of parts.flatMap((part) => part.sites)) {
    const found = sites.get(one.site);
    sites.set(one.site, {
      site: one.site,
      attempts: one.attempts + (found?.attempts ?? 0),
      waitedSeconds: Math.max(one.waitedSeconds, found?.waitedSeconds ?? 0),
      stalled: one.stalled || found?.stalled === true,
    });
  }
  const sum = (of: (part: InHand) => number) => parts.reduce((all, part) => all + of(part), 0);
  return {
    working: sum(({ working }) => working),
    waiting: sum(({ waiting }) => waiting),
    hesitant: sum(({ hesitant }) => hesitant),
    sites: [...sites.values()].sort((a, b) => b.waitedSeconds - a.waitedSeconds).slice(0, shownSites),
  };
}
