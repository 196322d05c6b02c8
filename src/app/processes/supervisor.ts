/** The folder app/processes: one program as several processes (POSTHORN_PROCESSES), to use all cores. This file is the supervisor: it has the data
 * directory, the embedded database, the shared sockets and the operations port, and keeps the processes running. It serves no mail itself.
 * Parts: slot.ts (restarts), run.ts (one process), child.ts (the process itself), sockets.ts and spread.ts (ports), metrics-sum.ts.
 * docs/decisions/0064-processes.md has the reasons. commands/start.ts calls it. */
import { randomUUID } from "node:crypto";
import { callBuckets } from "../../http/gate.ts";
import type { Log } from "../../ops/log.ts";
import type { Sql } from "../../postgres/pool.ts";
import { forgetAllWorkers } from "../../postgres/workers.ts";
import { createTokenSource } from "../../shares/leased-tokens.ts";
import { announcePort } from "../assemble/ops.ts";
import type { Program } from "../assemble.ts";
import type { Config } from "../config.ts";
import { type Ports, writePorts } from "../files.ts";
import { version } from "../help.ts";
import { explainStart, openStore, type Store } from "../open-store.ts";
import { createOpsListener } from "../ops-listener.ts";
import { createReadiness, type NodeState } from "../readiness.ts";
import { endRun } from "./ended-run.ts";
import type { FromProcess, SharedPort, Started } from "./messages.ts";
import { createOverview } from "./overview.ts";
import { type End, firstSharedDescriptor, type Run, startRun } from "./run.ts";
import { createSlot, type Slot } from "./slot.ts";
import { bindSockets, inherit, type SharedSockets } from "./sockets.ts";
import { createTransfers, type RawConnection } from "./spread.ts";

export type Supervised = Program & {
  /** Replaces one process after the other. A call during a restart leads to one more restart. */
  restart(): Promise<void>;
};

export type SuperviseOptions = {
  config: Config;
  log: Log;
  /** For the processes: the environment with the settings of the command line. */
  env: NodeJS.ProcessEnv;
  stop: AbortSignal;
};

/** The supervisor's own connections: it ends leases and answers health checks. */
const ownPool = 2;
/** What a process opens besides its pool: for wake-ups, and for an old process next to its replacement. */
const sparePerProcess = 3;
/** For commands, a backup and PostgreSQL itself. */
const spareConnections = 40;
/** What a stopping process takes after its drain. */
const afterDrainMs = 20_000;
const shareLoadsMs = 10;
/** A process needs about this long to start, so earlier counts arrive before it serves. */
const attemptsWithinMs = 2_000;
/** A process with more waiting connections than this does not receive them fast enough, or not at all. It gets no more. */
const mostWaiting = 32;

type Part = { name: string; stop(): Promise<void> | void };

export async function supervise(options: SuperviseOptions): Promise<Supervised> {
  const { config, log } = options;
  const parts: Part[] = [];
  const ports: Ports = { pid: process.pid };
  const node: NodeState = { phase: "starting", version, roles: [...config.roles], ports, sql: undefined };
  const stopAll = async () => {
    node.phase = "stopping";
    for (const part of parts.splice(0).reverse())
      await Promise.resolve(part.stop()).catch((error) =>
        log.error({ err: error, part: part.name }, "a part did not stop cleanly"),
      );
  };
  try {
    return await start(options, { parts, node, stopAll });
  } catch (error) {
    await stopAll();
    throw await explainStart(error, config);
  }
}

type Starting = { parts: Part[]; node: NodeState; stopAll(): Promise<void> };

async function start(options: SuperviseOptions, { parts, node, stopAll }: Starting): Promise<Supervised> {
  const { config, log, stop } = options;
  const slots: Slot[] = [];
  const overview = createOverview({ node, readiness: createReadiness(node), slots, count: config.processes });
  const ops = createOpsListener({ ...config.ops, log, token: config.metricsToken, ...overview });
  node.ports.ops = await ops.start();
  parts.push({ name: "operations", stop: ops.stop });

  const store = await openStore({
    config: { ...config, databasePool: ownPool },
    log,
    for: "program",
    onOpen(sql) {
      node.sql = sql;
      node.phase = "migrating";
    },
    serverSettings: [`max_connections=${connectionsOf(config)}`],
    stop,
  });
  node.phase = "starting";
  parts.push({ name: "store", stop: store.close });
  stop.throwIfAborted();
  announcePort({ config, log, port: node.ports.ops });
  // Under the lock of the data directory, no other program uses the database.
  if (store.embedded) await forgetAllWorkers(store.sql);

  const sockets = await bindSockets(config, log);
  parts.push({ name: "ports", stop: sockets.close });
  for (const name of ["http", "smtp", "submission", "submissions"] as const)
    node.ports[name] = sockets.bound.get(name)?.port;
  node.ports.dns = sockets.bound.get("dnsUdp")?.port;

  const ending = createEnding({ sql: store.sql, log, config });
  parts.push({ name: "leases of ended processes", stop: ending.stop });
  const newRun = createRuns({ options, store, sockets, overview, slots, ending, opsPort: node.ports.ops });
  for (let slot = 0; slot < config.processes; slot++)
    slots.push(
      createSlot({
        slot,
        log,
        newRun: (onEnd) => newRun(slot, onEnd),
        stopLimitMs: config.drainMs + afterDrainMs,
        onRestart: overview.countRestart,
      }),
    );
  parts.push({ name: "processes", stop: async () => void (await Promise.all(slots.map((one) => one.stop()))) });
  // The first one alone: it creates what an instance needs before its first use.
  const started = await untilStopped(slots[0]!.first({ required: true }), stop);
  // One that cannot start is tried again, like one that ends later.
  await untilStopped(Promise.allSettled(slots.slice(1).map((one) => one.first({ required: false }))), stop);
  node.phase = "running";
  await writePorts(config.dataDir, node.ports);
  log.info({ version, roles: node.roles, processes: config.processes, ports: node.ports }, "Posthorn is ready");
  return { ...programOf(started, node.ports), restart: restarter(slots, { node, log }), stop: stopAll };
}

function programOf({ first, exampleDomain, firstSignUp }: Started, ports: Ports): Omit<Program, "stop"> {
  return { ports, first, exampleDomain, firstSignUp };
}

/** The embedded server's default, or what all processes need. */
function connectionsOf({ processes, databasePool }: Config): number {
  return Math.max(100, processes * (databasePool + sparePerProcess) + databasePool + spareConnections);
}

async function untilStopped<T>(promise: Promise<T>, stop: AbortSignal): Promise<T> {
  promise.catch(() => {});
  stop.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {});
  const onStop = () => stopped.reject(stop.reason);
  stop.addEventListener("abort", onStop, { once: true });
  try {
    return await Promise.race([promise, stopped.promise]);
  } finally {
    stop.removeEventListener("abort", onStop);
  }
}

/** Ends leases in the background, and waits for that at the end. */
function createEnding(deps: { sql: Sql; log: Log; config: Config }) {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  return {
    end(run: string): void {
      const ending = endRun({ ...deps, stop: stopping.signal }, run).finally(() => running.delete(ending));
      running.add(ending);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

type RunsDeps = {
  options: SuperviseOptions;
  store: Store;
  sockets: SharedSockets;
  overview: ReturnType<typeof createOverview>;
  slots: Slot[];
  ending: { end(run: string): void };
  opsPort: number;
};

/** Returns the function that starts a process, and connects the processes with each other. */
function createRuns({ options, store, sockets, overview, slots, ending, opsPort }: RunsDeps) {
  const { config, env } = options;
  const tokens = createTokenSource({ ...callBuckets(config.rate), nowMs: () => performance.now() });
  const { descriptors, fds } = inherit(sockets, firstSharedDescriptor);
  const transfers = createTransfers();
  let lastId = 0;
  let isSharing = false;

  const others = (run: Run) => slots.flatMap((slot) => slot.runs()).filter((one) => one !== run);

  function shareLoads(): void {
    if (isSharing) return;
    isSharing = true;
    setTimeout(() => {
      isSharing = false;
      const taking = slots.flatMap((slot) => slot.serving() ?? []);
      const ids = taking.map((run) => run.id);
      for (const run of taking) run.send({ kind: "loads", ...transfers.shareWith(run.id, ids) });
    }, shareLoadsMs);
  }

  /** To the process that was chosen, or to another one if it no longer takes connections. */
  function move(port: SharedPort, raw: RawConnection, chosen?: number): void {
    const taking = slots.flatMap((slot) => slot.serving() ?? []).sort((a, b) => a.waiting() - b.waiting());
    const to = taking.find((run) => run.id === chosen && run.waiting() < mostWaiting) ?? taking[0];
    if (!to) return raw.close();
    transfers.passed(to.id, port);
    to.pass(port, raw);
  }

  /** A restart must not give back attempts. */
  async function shareAttempts(run: Run): Promise<void> {
    const [peer] = slots.flatMap((slot) => slot.serving() ?? []);
    const counts = await peer?.ask("attempts", attemptsWithinMs).catch(() => undefined);
    if (counts) run.send({ kind: "attempts", counts });
  }

  async function answer(run: Run, question: Extract<FromProcess, { kind: "ask" }>): Promise<void> {
    const { id, what, owner, wanted } = question;
    const value =
      what === "tokens"
        ? tokens.lease(owner!, wanted!)
        : what === "ready"
          ? (await overview.details()).ready
          : await overview.metrics();
    run.send({ kind: "answer", id, value });
  }

  function onMessage(run: Run, message: FromProcess, raw: RawConnection | undefined): void {
    if (message.kind === "ask") void answer(run, message).catch(() => {});
    else if (message.kind === "tokens") tokens.giveBack(message.owner, message.given);
    else if (message.kind === "attempt") for (const other of others(run)) other.send(message);
    else if (message.kind === "connection") {
      transfers.received(run.id, message.to, message.port);
      if (raw) move(message.port, raw, message.to);
    } else if (message.kind === "metrics") overview.note(run, message.metrics);
    else if (message.kind === "started" || message.kind === "stopping") shareLoads();
    else if (message.kind === "loads") {
      transfers.reported(run.id, message);
      shareLoads();
    }
  }

  return (slot: number, onEnd: (run: Run, end: End) => void): Run => {
    const name = randomUUID();
    const id = ++lastId;
    transfers.began(id);
    const run = startRun({
      order: {
        slot,
        version,
        id,
        part: { index: slot, of: config.processes },
        run: name,
        databaseUrl: store.embedded ? store.url : undefined,
        descriptors,
        opsPort,
      },
      env,
      fds,
      onMessage,
      onEnd(run, end) {
        transfers.ended(id);
        overview.ended(run);
        ending.end(name);
        shareLoads();
        onEnd(run, end);
      },
      onReturned: move,
    });
    void shareAttempts(run);
    return run;
  };
}

/** One restart at a time, and one more for all requests during it. */
function restarter(slots: Slot[], { node, log }: { node: NodeState; log: Log }): () => Promise<void> {
  let running: Promise<void> | undefined;
  let again = false;

  async function restartAll(): Promise<void> {
    do {
      again = false;
      log.info("restarting one process after the other");
      try {
        for (const slot of slots) {
          if (node.phase === "stopping") return;
          await slot.replace();
        }
        log.info("all processes have been restarted");
      } catch (error) {
        if (node.phase !== "stopping")
          log.error(
            { reason: (error as Error).message },
            "the restart stopped, because a new process cannot start; the processes that were not replaced yet keep running",
          );
      }
    } while (again && node.phase !== "stopping");
  }

  return () => {
    if (running) again = true;
    running ??= restartAll().finally(() => {
      running = undefined;
    });
    return running;
  };
}
