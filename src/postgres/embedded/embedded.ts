/**
 * The PostgreSQL server of the default install, whose cluster is in the data directory: started, supervised and stopped by the program.
 * app/open-store.ts starts it. location.ts has the paths, lock.ts allows one program per data directory, cluster.ts creates the
 * cluster, server.ts runs the process.
 */
import { realpath, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { canEnter, canInherit } from "./account.ts";
import { prepareBinaries } from "./binaries.ts";
import { prepareCluster } from "./cluster.ts";
import { EmbeddedError, explain } from "./error.ts";
import {
  baseDirOf,
  type ClusterLocation,
  hasCluster,
  letGroupEnter,
  locateCluster,
  moveCommands,
  readFacts,
  socketDirOf,
  socketPath,
  socketUrl,
  syncPath,
  systemDir,
} from "./location.ts";
import { isListening, type Lock, type LockHolder, type LockRole, lockHolder, takeLock } from "./lock.ts";
import { createServerLog, type EmbeddedLog } from "./log.ts";
import { type Server, startServer, stopLeftover, superviseServer } from "./server.ts";
import { ensureDatabase, resetServerPassword } from "./session.ts";

export { socketOptions } from "../database-url.ts";
export { EmbeddedError } from "./error.ts";

export type EmbeddedOptions = {
  dataDir: string;
  log: EmbeddedLog;
  /** A starting program waits for a command that has the lock, and refuses to start when another program has it. */
  role?: LockRole;
  /** Settings that override those of the cluster, as `name=value`. */
  settings?: string[];
};

export type Embedded = {
  /** The URL for `openDb`, and for psql and pg_dump. */
  url: string;
  /** False when another program runs the server: `stop` then does not stop it. */
  owned: boolean;
  /** The server's process id; undefined while it is down. */
  pid(): number | undefined;
  /** Called with the exit reason each time the server ends unexpectedly, before it is restarted. */
  onExit(listener: (how: string) => void): void;
  stop(): Promise<void>;
};

const commandWaitMs = 15_000;
const joinLimitMs = 30_000;

/** Starts the server. Throws an EmbeddedError `locked` when another program runs on this data directory. */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  let lock: Lock | undefined;
  try {
    const locked = await lockCluster(options);
    lock = locked.lock;
    return await startLocked(locked.location, lock, options);
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
      // A program took the lock after joinRunning had found none: join it in the next round.
      const locked = error instanceof EmbeddedError && error.code === "locked";
      if (!locked || performance.now() > until) throw error;
      await delay(50);
    }
  }
}

async function startLocked(
  location: ClusterLocation,
  lock: Lock,
  { log, settings }: EmbeddedOptions,
): Promise<Embedded> {
  const began = performance.now();
  const leftover = await stopLeftover(location);
  if (leftover !== undefined) log.warn({ pid: leftover }, "stopped the PostgreSQL that a killed program left running");
  const fallbackDir = location.runAs === undefined ? location.dataDir : systemDir;
  const binaries = await prepareBinaries(location.runAs, fallbackDir);
  const { facts, created, passwordIsNew } = await prepareCluster(location, binaries);
  const serverLog = createServerLog(location.dataDir);
  const run = { location, binaries, log: serverLog, settings };
  let first: Server | undefined;
  try {
    if (passwordIsNew) await resetServerPassword(run, facts);
    first = await startServer(run);
    await ensureDatabase(location, facts.password);
  } catch (error) {
    await first?.stop();
    serverLog.close();
    throw error;
  }
  const supervised = superviseServer(first, (signal) => startServer({ ...run, signal }), log);
  const tookMs = Math.round(performance.now() - began);
  log.info({ version: binaries.version, cluster: location.cluster, created, tookMs }, "PostgreSQL is ready");
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await supervised.stop();
    serverLog.close();
    await lock.release();
    log.info({}, "PostgreSQL has stopped");
  };
  return {
    url: facts.url,
    owned: true,
    pid: supervised.pid,
    onExit: supervised.onExit,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Locks the directory of the cluster. Moves a cluster that an older release put elsewhere into the data directory first. */
async function lockCluster({
  dataDir,
  role = "program",
  log,
}: EmbeddedOptions): Promise<{ location: ClusterLocation; lock: Lock }> {
  for (;;) {
    const location = await locateCluster(dataDir);
    const lock = await lockOrRefuse(location, role);
    try {
      if (location.baseDir === location.dataDir || !(await moveIntoDataDir(location, log))) return { location, lock };
    } catch (error) {
      await lock.release();
      throw error;
    }
    await lock.release();
  }
}

/** Takes the lock. Waits while a command has it, and throws when a program has it. */
export async function lockOrRefuse(location: ClusterLocation, role: LockRole): Promise<Lock> {
  const until = performance.now() + commandWaitMs;
  for (;;) {
    const result = await takeLock({ ...location, role, socket: socketPath(location.socketDir) });
    if ("release" in result) return result;
    if ("copied" in result) throw copiedWhileRunning(result, location.dataDir);
    if (result.holder.role === "program" || performance.now() > until)
      throw alreadyRunning(result.holder, location.dataDir);
    await delay(50);
  }
}

function alreadyRunning({ pid, dataDir: theirs }: LockHolder, dataDir: string): EmbeddedError {
  const through = theirs === dataDir ? "" : ` (through ${theirs})`;
  const message = `Posthorn already runs on the data directory ${dataDir}${through}: process ${pid}. Stop that process, or set POSTHORN_DATA_DIR to another directory.`;
  return new EmbeddedError("locked", message);
}

function copiedWhileRunning({ copied, path }: { copied: LockHolder; path: string }, dataDir: string): EmbeddedError {
  const of = copied.dataDir === dataDir ? "a copy" : `a copy of ${copied.dataDir}`;
  const message = `${dataDir} is ${of}, made while Posthorn (process ${copied.pid}) ran on the original or after it was killed, so its database may be damaged. Copy again after a clean stop, or use posthorn backup and posthorn restore. If the copy is an atomic snapshot, or nothing ran when it was made, remove ${path} and start again.`;
  return new EmbeddedError("copied", message);
}

/** Joins the running program's server, and waits while that is still starting. Undefined when no program runs. */
async function joinRunning(path: string, until: number): Promise<Embedded | undefined> {
  const dataDir = await realpath(path).catch(() => undefined);
  if (dataDir === undefined) return undefined;
  for (;;) {
    const found = await findRunning(dataDir).catch(async (error) => {
      throw await explain(error, dataDir);
    });
    if (found === undefined) return undefined;
    const { holder, socketDir, password } = found;
    // Not the URL from postgres.json: in a copied directory that is the URL of the original.
    if (password !== undefined && (await isListening(socketPath(socketDir)))) {
      const url = socketUrl(socketDir, password);
      return { url, owned: false, pid: () => undefined, onExit: () => {}, stop: async () => {} };
    }
    if (performance.now() > until) {
      const message = `Posthorn (process ${holder.pid}) runs on ${dataDir}, but its database does not answer. See ${dataDir}/postgres.log for the reason.`;
      throw new EmbeddedError("failed", message);
    }
    await delay(50);
  }
}

type RunningProgram = { holder: LockHolder; socketDir: string; password: string | undefined };

/** The program that runs on this data directory, and where its server listens. */
async function findRunning(dataDir: string): Promise<RunningProgram | undefined> {
  const facts = await readFacts(dataDir);
  const baseDir = baseDirOf(dataDir, facts);
  const cluster = join(baseDir, "postgres");
  const owner = await stat(cluster).catch(() => undefined);
  const socketDir = socketDirOf(cluster, owner?.uid ?? process.getuid?.() ?? 0);
  const holder = await lockHolder({ baseDir, dataDir, socket: socketPath(socketDir) }).catch(() => undefined);
  return holder?.role === "program" ? { holder, socketDir, password: facts?.password } : undefined;
}

/**
 * Moves a cluster that an older release put under /var/lib/posthorn, because PostgreSQL's account could not enter root's data
 * directory. Called with the lock of the old directory. Returns true when the cluster is in the data directory. A rename is atomic;
 * a move to another file system would be a copy of unknown size, which is left to the operator.
 */
async function moveIntoDataDir(location: ClusterLocation, log: EmbeddedLog): Promise<boolean> {
  const { dataDir, baseDir, runAs } = location;
  if (hasCluster(dataDir)) return true;
  await stopLeftover(location);
  try {
    if (runAs !== undefined) await letGroupEnter(dataDir, runAs);
    if (runAs !== undefined && !canInherit() && !(await canEnter(dataDir, runAs)))
      return warnNotMoved(location, log, `PostgreSQL's account cannot enter ${dataDir}`);
    await rename(location.cluster, join(dataDir, "postgres"));
  } catch (error) {
    return warnNotMoved(location, log, (error as Error).message);
  }
  await syncPath(dataDir);
  await syncPath(baseDir);
  await rm(join(baseDir, "postgres.conf"), { force: true });
  log.info({ from: baseDir, to: dataDir }, "moved the database into the data directory");
  return true;
}

function warnNotMoved({ baseDir, dataDir }: ClusterLocation, log: EmbeddedLog, reason: string): false {
  const message = `the database is in ${baseDir}, outside the data directory: cp -a does not copy it, posthorn backup does. It could not be moved: ${reason}. To move it into the data directory, stop Posthorn and run: ${moveCommands(dataDir, baseDir)}`;
  log.warn({ home: baseDir, dataDir }, message);
  return false;
}
