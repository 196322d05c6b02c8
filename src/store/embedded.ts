/** The PostgreSQL of the default install, inside the data directory: started with the program, kept alive, stopped with it. Called by db.ts. */
import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { prepareBinaries } from "./embedded-binaries.ts";
import { prepareCluster } from "./embedded-cluster.ts";
import { EmbeddedError, explain } from "./embedded-error.ts";
import {
  findHome,
  type Home,
  homeOf,
  readFacts,
  rootPlace,
  socketDirOf,
  socketPath,
  socketUrl,
} from "./embedded-home.ts";
import { accepts, type Holder, type Lock, lockHolder, type Role, takeLock } from "./embedded-lock.ts";
import { createServerLog, type EmbeddedLog } from "./embedded-log.ts";
import { bringHome } from "./embedded-older-home.ts";
import { type Server, startServer, stopLeftover } from "./embedded-server.ts";
import { ensureDatabase, teachPassword } from "./embedded-session.ts";
import { keepAlive } from "./embedded-supervise.ts";

export { EmbeddedError } from "./embedded-error.ts";

export type EmbeddedOptions = {
  dataDir: string;
  log: EmbeddedLog;
  /** A command that has the database for a moment makes a starting program wait; a program makes it refuse. */
  role?: Role;
  /** Settings that win over those of the cluster, as `name=value`. */
  settings?: string[];
};

export type Embedded = {
  /** For postgres.js together with `socketOptions(url)`; for psql and pg_dump as it is. */
  url: string;
  /** False when another program runs the server: `stop` then leaves it alone. */
  owned: boolean;
  /** The server's process id now; undefined while it is down. */
  pid(): number | undefined;
  /** Told of every end that nobody asked for; the server is being started again at that moment. */
  onExit(listener: (how: string) => void): void;
  stop(): Promise<void>;
};

const commandWaitMs = 15_000;
const joinLimitMs = 30_000;

/** Refuses with an EmbeddedError `locked` when another program runs on this data directory. */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  let lock: Lock | undefined;
  try {
    const found = await lockHome(options);
    lock = found.lock;
    return await startLocked(found.home, lock, options);
  } catch (error) {
    await lock?.release();
    throw await explain(error, options.dataDir);
  }
}

/** For commands: joins the server of the program that runs on this data directory, or starts one when none does. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const until = performance.now() + joinLimitMs;
  for (;;) {
    const running = await joinRunning(options.dataDir, until);
    if (running !== undefined) return running;
    try {
      return await startEmbedded({ role: "command", ...options });
    } catch (error) {
      // A program took the lock between the two looks: join it.
      const locked = error instanceof EmbeddedError && error.code === "locked";
      if (!locked || performance.now() > until) throw error;
      await delay(50);
    }
  }
}

/** postgres.js does not read a socket from a URL, so it is handed over beside it; `{}` for a URL that names a host. */
export function socketOptions(url: string): { path?: string } {
  // Several hosts with ports of their own are no URL to the standard, and no socket either.
  if (!URL.canParse(url)) return {};
  const { hostname, port } = new URL(url);
  const directory = decodeURIComponent(hostname);
  return directory.startsWith("/") ? { path: `${directory}/.s.PGSQL.${port || "5432"}` } : {};
}

async function startLocked(home: Home, lock: Lock, { log, settings }: EmbeddedOptions): Promise<Embedded> {
  const began = performance.now();
  const leftover = await stopLeftover(home);
  if (leftover !== undefined) log.warn({ pid: leftover }, "stopped the PostgreSQL that a killed program left behind");
  const spare = home.runAs === undefined ? home.dataDir : rootPlace;
  const binaries = await prepareBinaries(home.runAs, spare);
  const { facts, created, passwordIsNew } = await prepareCluster(home, binaries);
  const serverLog = createServerLog(home.dataDir);
  const run = { home, binaries, log: serverLog, settings };
  let first: Server | undefined;
  try {
    if (passwordIsNew) await teachPassword(run, facts);
    first = await startServer(run);
    await ensureDatabase(home, facts.password);
  } catch (error) {
    await first?.stop();
    serverLog.close();
    throw error;
  }
  const alive = keepAlive(first, (signal) => startServer({ ...run, signal }), log);
  const tookMs = Math.round(performance.now() - began);
  log.info({ version: binaries.version, cluster: home.cluster, created, tookMs }, "PostgreSQL is ready");
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await alive.stop();
    serverLog.close();
    await lock.release();
    log.info({}, "PostgreSQL has stopped");
  };
  return {
    url: facts.url,
    owned: true,
    pid: alive.pid,
    onExit: alive.onExit,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Under the lock of the place where the cluster is. One that an older release put elsewhere is brought into the data directory first. */
async function lockHome({ dataDir, role = "program", log }: EmbeddedOptions): Promise<{ home: Home; lock: Lock }> {
  for (;;) {
    const home = await findHome(dataDir);
    const lock = await lockOrRefuse(home, role);
    try {
      if (home.home === home.dataDir || !(await bringHome(home, log))) return { home, lock };
    } catch (error) {
      await lock.release();
      throw error;
    }
    await lock.release();
  }
}

/** Waits for a command, refuses while a program runs. */
export async function lockOrRefuse(home: Home, role: Role): Promise<Lock> {
  const until = performance.now() + commandWaitMs;
  for (;;) {
    const taken = await takeLock({ ...home, role, socket: socketPath(home.socketDir) });
    if ("release" in taken) return taken;
    if ("copied" in taken) throw copiedWhileRunning(taken, home.dataDir);
    if (taken.holder.role === "program" || performance.now() > until) throw refusal(taken.holder, home.dataDir);
    await delay(50);
  }
}

function refusal({ pid, dataDir }: Holder, wanted: string): EmbeddedError {
  const same = dataDir === wanted ? "" : ` (through ${dataDir})`;
  const message = `Posthorn already runs on the data directory ${wanted}${same}: process ${pid}. Stop that process, or set POSTHORN_DATA_DIR to another directory.`;
  return new EmbeddedError("locked", message);
}

function copiedWhileRunning({ copied, path }: { copied: Holder; path: string }, dataDir: string): EmbeddedError {
  const of = copied.dataDir === dataDir ? "a copy" : `a copy of ${copied.dataDir}`;
  const message = `${dataDir} is ${of}, made while Posthorn (process ${copied.pid}) ran on the original or after it was killed, so its database may be damaged. Copy again after a clean stop, or use posthorn backup and posthorn restore. If the copy is an atomic snapshot, or nothing ran when it was made, remove ${path} and start again.`;
  return new EmbeddedError("copied", message);
}

/** Waits while the program that holds the lock is still starting its server. */
async function joinRunning(wanted: string, until: number): Promise<Embedded | undefined> {
  const dataDir = await realpath(wanted).catch(() => undefined);
  if (dataDir === undefined) return undefined;
  for (;;) {
    const found = await lookFor(dataDir).catch(async (error) => {
      throw await explain(error, dataDir);
    });
    if (found === undefined) return undefined;
    const { holder, socketDir, password } = found;
    // Never by the URL in the facts, which in a copied directory is the original's.
    if (password !== undefined && (await accepts(socketPath(socketDir)))) {
      const url = socketUrl(socketDir, password);
      return { url, owned: false, pid: () => undefined, onExit: () => {}, stop: async () => {} };
    }
    if (performance.now() > until) {
      const message = `Posthorn (process ${holder.pid}) runs on ${dataDir} but its database does not answer. Look into ${dataDir}/postgres.log.`;
      throw new EmbeddedError("failed", message);
    }
    await delay(50);
  }
}

type Found = { holder: Holder; socketDir: string; password: string | undefined };

/** The program that runs on this data directory, and where its server listens. */
async function lookFor(dataDir: string): Promise<Found | undefined> {
  const facts = await readFacts(dataDir);
  const home = homeOf(dataDir, facts);
  const cluster = join(home, "postgres");
  const owner = await stat(cluster).catch(() => undefined);
  const socketDir = socketDirOf(cluster, owner?.uid ?? process.getuid?.() ?? 0);
  const holder = await lockHolder({ home, dataDir, socket: socketPath(socketDir) }).catch(() => undefined);
  return holder?.role === "program" ? { holder, socketDir, password: facts?.password } : undefined;
}
