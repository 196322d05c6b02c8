/** Runs one PostgreSQL on a prepared cluster: start, notice its end, stop. The life of the whole service around it is in embedded.ts. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { RunAs } from "./embedded-account.ts";
import type { Binaries } from "./embedded-binaries.ts";
import { EmbeddedError, explainOutput } from "./embedded-error.ts";
import { type Home, readLockFile, readPidFile, socketPath } from "./embedded-home.ts";
import { accepts } from "./embedded-lock.ts";
import type { ServerLog } from "./embedded-log.ts";
import { pidTaken, processStart, serves } from "./embedded-process.ts";
import { cleanEnvironment, innerPath, spawnFor } from "./embedded-spawn.ts";

export type Server = {
  pid: number;
  /** Resolves when the process is gone, with the way it ended. */
  exited: Promise<string>;
  /** Fast shutdown (sessions are cut, everything is written), then immediate after the limit (the next start recovers). */
  stop(): Promise<void>;
};

export type StartServer = {
  home: Home;
  binaries: Binaries;
  log: ServerLog;
  signal?: AbortSignal;
  /** Settings for this run alone. */
  settings?: string[];
};

/** PostgreSQL's fast shutdown, its immediate one, and the kernel's; with the time that each is given. */
const shutdowns = [
  ["SIGINT", 20_000],
  ["SIGQUIT", 5000],
  ["SIGKILL", 5000],
] as const;

const pollMs = 15;

/** Returns when it accepts connections. Recovery after a crash may take minutes and is waited for. */
export async function startServer({ home, binaries, log, signal, settings = [] }: StartServer): Promise<Server> {
  await clearStale(home);
  const mark = log.mark();
  const file = log.open();
  const child = spawnFor(home, {
    program: binaries.postgres,
    args: ["-D", innerPath(home, home.cluster), ...settings.flatMap((setting) => ["-c", setting])],
    runAs: home.runAs,
    output: file,
    errors: file,
  });
  closeSync(file);
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  if (child.pid === undefined) throw new EmbeddedError("failed", `PostgreSQL cannot be run: ${await exited}`);
  child.unref();
  const guard = watch(child.pid, home);
  let ended: string | undefined;
  void exited.then((how) => {
    ended = how;
    guard.kill("SIGKILL");
  });
  const server = { pid: child.pid, exited, stop: () => stopChild(child, exited) };
  // In a container that was killed, the new server may have the very number that the old one's pid file calls ready: it must answer too.
  while (!(isReady(home.cluster, child.pid) && (await accepts(socketPath(home.socketDir))))) {
    if (signal?.aborted) {
      await server.stop();
      throw signal.reason;
    }
    if (ended !== undefined) throw explainOutput(`Starting PostgreSQL (${ended})`, log.since(mark), home.home);
    await delay(pollMs);
  }
  return server;
}

/** Ends the server that a killed program left running: one start, one set of settings, one parent. */
export async function stopLeftover({ cluster }: Home): Promise<number | undefined> {
  const pid = readPidFile(cluster)?.pid;
  if (pid === undefined || !serves(pid, cluster)) return undefined;
  const start = processStart(pid);
  const gone = () => processStart(pid) !== start;
  for (const [signal, waitMs] of shutdowns) {
    signalProcess(pid, signal);
    const until = performance.now() + waitMs;
    while (!gone() && performance.now() < until) await delay(pollMs);
    if (gone()) return pid;
  }
  const message = `A PostgreSQL (pid ${pid}) still runs on ${cluster} and does not end. End it, or restart the machine.`;
  throw new EmbeddedError("locked", message);
}

/**
 * PostgreSQL believes its lock files while any process has the number in them: a zombie, a stranger, or the server of the data
 * directory that this one was copied from. What it can judge is left to it.
 */
async function clearStale({ cluster, socketDir }: Home): Promise<void> {
  const [pidFile, socket] = [join(cluster, "postmaster.pid"), socketPath(socketDir)];
  if (isStale(pidFile, cluster)) await rm(pidFile, { force: true });
  // A moved instance may still listen on the short path that follows from its old place.
  if (!isStale(`${socket}.lock`, cluster) || (await accepts(socket))) return;
  await rm(socket, { force: true });
  await rm(`${socket}.lock`, { force: true });
}

function isStale(lockFile: string, cluster: string): boolean {
  const pid = readLockFile(lockFile)?.pid;
  return pid !== undefined && pidTaken(pid) && !serves(pid, cluster);
}

function isReady(cluster: string, pid: number): boolean {
  const found = readPidFile(cluster);
  return found?.pid === pid && found.ready;
}

/**
 * A shell that waits for our end of its standard input to close, which the kernel does even after kill -9, and then asks the
 * server to stop. Without it a killed program leaves a database running that nobody owns.
 */
function watch(pid: number, { cluster, runAs }: { cluster: string; runAs: RunAs | undefined }): ChildProcess {
  const script = 'trap "" HUP INT TERM; read -r _; read -r pid < postmaster.pid; [ "$pid" = "$1" ] && kill -INT "$1"';
  const guard = spawn("/bin/sh", ["-c", script, "posthorn-guard", String(pid)], {
    ...runAs,
    // Entered before the account changes, so that it works below a closed directory too.
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
  const late = delay(limitMs, false, { signal: timer.signal }).catch(() => false);
  const ended = await Promise.race([exited.then(() => true), late]);
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
