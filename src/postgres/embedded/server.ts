/** Runs one PostgreSQL server on a prepared cluster: start, stop, restart after an unexpected end. Called by embedded.ts and session.ts. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { cleanEnvironment, innerPath, type RunAs, spawnIn } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { EmbeddedError, explainOutput } from "./error.ts";
import { type ClusterLocation, readLockFile, readPidFile, socketPath } from "./location.ts";
import { isListening } from "./lock.ts";
import type { EmbeddedLog, ServerLog } from "./log.ts";
import { isServerOf, pidTaken, processStart } from "./process.ts";

export type Server = {
  pid: number;
  /** Resolves with the exit code or signal when the process has ended. */
  exited: Promise<string>;
  /** Fast shutdown (sessions end, everything is written); after a timeout immediate shutdown (the next start recovers). */
  stop(): Promise<void>;
};

export type StartServer = {
  location: ClusterLocation;
  binaries: Binaries;
  log: ServerLog;
  signal?: AbortSignal;
  /** Settings for this run only. */
  settings?: string[];
};

/** PostgreSQL's fast shutdown, its immediate shutdown, and kill, each with its timeout. */
const shutdowns = [
  ["SIGINT", 20_000],
  ["SIGQUIT", 5000],
  ["SIGKILL", 5000],
] as const;

const pollMs = 15;

/** Resolves when the server accepts connections. This has no timeout, because recovery after a crash may take minutes. */
export async function startServer({ location, binaries, log, signal, settings = [] }: StartServer): Promise<Server> {
  await removeStaleLocks(location);
  const mark = log.mark();
  const file = log.open();
  const child = spawnIn(location, {
    program: binaries.postgres,
    args: ["-D", innerPath(location, location.cluster), ...settings.flatMap((setting) => ["-c", setting])],
    runAs: location.runAs,
    output: file,
    errors: file,
  });
  closeSync(file);
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  if (child.pid === undefined) throw new EmbeddedError("failed", `PostgreSQL cannot be started: ${await exited}`);
  child.unref();
  const guard = startGuard(child.pid, location);
  let ended: string | undefined;
  void exited.then((how) => {
    ended = how;
    guard.kill("SIGKILL");
  });
  const server = { pid: child.pid, exited, stop: () => stopChild(child, exited) };
  // After a killed container the new server may have the pid of the old pid file, which says ready, so the socket must answer too.
  while (!(isReady(location.cluster, child.pid) && (await isListening(socketPath(location.socketDir))))) {
    if (signal?.aborted) {
      await server.stop();
      throw signal.reason;
    }
    if (ended !== undefined) throw explainOutput(`Starting PostgreSQL (${ended})`, log.since(mark), location.baseDir);
    await delay(pollMs);
  }
  return server;
}

/** Stops the server that a killed program left running, and returns its pid. The new program starts its own with its own settings. */
export async function stopLeftover({ cluster }: ClusterLocation): Promise<number | undefined> {
  const pid = readPidFile(cluster)?.pid;
  if (pid === undefined || !isServerOf(pid, cluster)) return undefined;
  const start = processStart(pid);
  const gone = () => processStart(pid) !== start;
  for (const [signal, waitMs] of shutdowns) {
    signalProcess(pid, signal);
    const until = performance.now() + waitMs;
    while (!gone() && performance.now() < until) await delay(pollMs);
    if (gone()) return pid;
  }
  const message = `A PostgreSQL (pid ${pid}) still runs on ${cluster} and does not stop, even after SIGKILL. Stop it, or restart the machine.`;
  throw new EmbeddedError("locked", message);
}

/**
 * PostgreSQL respects a lock file while any process has its pid: also a zombie, an unrelated process, or the server of the data
 * directory that this one was copied from. This removes such files; PostgreSQL handles the other cases itself.
 */
async function removeStaleLocks({ cluster, socketDir }: ClusterLocation): Promise<void> {
  const [pidFile, socket] = [join(cluster, "postmaster.pid"), socketPath(socketDir)];
  if (isStale(pidFile, cluster)) await rm(pidFile, { force: true });
  // A data directory that was moved while its server ran may still listen on the short path of its old location.
  if (!isStale(`${socket}.lock`, cluster) || (await isListening(socket))) return;
  await rm(socket, { force: true });
  await rm(`${socket}.lock`, { force: true });
}

function isStale(lockFile: string, cluster: string): boolean {
  const pid = readLockFile(lockFile)?.pid;
  return pid !== undefined && pidTaken(pid) && !isServerOf(pid, cluster);
}

function isReady(cluster: string, pid: number): boolean {
  const found = readPidFile(cluster);
  return found?.pid === pid && found.ready;
}

/**
 * Starts a shell that waits until its standard input closes, which the kernel does even after kill -9 of our program, and then stops
 * the server. Without it a killed program would leave its server running.
 */
function startGuard(pid: number, { cluster, runAs }: { cluster: string; runAs: RunAs | undefined }): ChildProcess {
  const script = 'trap "" HUP INT TERM; read -r _; read -r pid < postmaster.pid; [ "$pid" = "$1" ] && kill -INT "$1"';
  const guard = spawn("/bin/sh", ["-c", script, "posthorn-guard", String(pid)], {
    ...runAs,
    // Node changes to this directory before it changes the account, so it works below a closed directory too.
    cwd: cluster,
    env: cleanEnvironment,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => {});
  guard.stdin?.on("error", () => {});
  guard.unref();
  (guard.stdin as unknown as { unref?(): void } | null)?.unref?.();
  return guard;
}

async function stopChild(child: ChildProcess, exited: Promise<string>): Promise<void> {
  for (const [signal, waitMs] of shutdowns) {
    child.kill(signal);
    if (await endsWithin(exited, waitMs)) return;
  }
}

async function endsWithin(exited: Promise<string>, limitMs: number): Promise<boolean> {
  const timer = new AbortController();
  const timeout = delay(limitMs, false, { signal: timer.signal }).catch(() => false);
  const ended = await Promise.race([exited.then(() => true), timeout]);
  timer.abort();
  return ended;
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

export type SupervisedServer = {
  pid(): number | undefined;
  onExit(listener: (how: string) => void): void;
  stop(): Promise<void>;
};

/** The signal aborts a start that is still in recovery when the program shuts down. */
type Start = (signal: AbortSignal) => Promise<Server>;

const firstPauseMs = 50;
const longestPauseMs = 2000;
/** A server that ran this long did not fail at start, so the back-off begins again. */
const stableMs = 1000;

/** Restarts the server with back-off each time it ends unexpectedly, until `stop`. */
export function superviseServer(first: Server, start: Start, log: EmbeddedLog): SupervisedServer {
  const listeners: ((how: string) => void)[] = [];
  const stopping = new AbortController();
  let server: Server | undefined = first;
  const loop = supervise();

  async function supervise(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (server !== undefined) {
      const since = performance.now();
      const how = await server.exited;
      server = undefined;
      if (stopping.signal.aborted) return;
      log.error({ how }, "PostgreSQL ended unexpectedly; restarting it");
      for (const listener of listeners) listener(how);
      if (performance.now() - since > stableMs) pauseMs = firstPauseMs;
      while (server === undefined) {
        await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
        if (stopping.signal.aborted) return;
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
        server = await restart(() => start(stopping.signal), pauseMs, log);
      }
      if (stopping.signal.aborted) return;
    }
  }

  return {
    pid: () => server?.pid,
    onExit: (listener) => listeners.push(listener),
    async stop() {
      stopping.abort();
      await server?.stop();
      await loop;
      // A restart that was in progress may have started another server.
      await server?.stop();
    },
  };
}

async function restart(start: () => Promise<Server>, pauseMs: number, log: EmbeddedLog): Promise<Server | undefined> {
  try {
    const server = await start();
    log.info({ pid: server.pid }, "PostgreSQL restarted");
    return server;
  } catch (error) {
    log.error({ err: error, pauseMs }, "PostgreSQL did not start; retrying");
    return undefined;
  }
}
