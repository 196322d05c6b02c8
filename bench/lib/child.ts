/**
 * Runs each bench in a process of its own with a time limit. No bench inherits compiled code or memory of the one before, so it measures the
 * same alone and after others. A bench that hangs is stopped with everything that it started, and its temporary files are removed.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Row } from "./report.ts";

type Answer = { rows: Row[] } | { error: string };

/** The name of the bench, in the environment of its process. */
const variable = "BENCH_NAME";
/** Servers end after SIGTERM within this time; then everything is killed. */
const stopMs = 5000;

export type Child = { script: string; name: string; limitMs: number; env?: Record<string, string> };

let current: ChildProcess | undefined;

/** Starts `script` again with the same arguments; it calls `serveBench`. Throws what the bench throws. */
export async function runInChild({ script, name, limitMs, env }: Child): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-bench-"));
  // PostgreSQL and Postfix run with other accounts than root.
  await chmod(folder, 0o755);
  const child = fork(script, process.argv.slice(2), {
    env: { ...process.env, ...env, TMPDIR: folder, [variable]: name },
    serialization: "advanced",
    // A process group of its own, which can be killed as a whole.
    detached: true,
  });
  current = child;
  let answer: Answer | undefined;
  const failed = new Promise<"failed">((resolve) => {
    child.on("message", (message: Answer) => {
      answer = message;
      if ("error" in message) resolve("failed");
    });
  });
  // The last message may be read after the exit, but not after the channel is closed.
  const ended = Promise.all([once(child, "exit"), once(child, "disconnect")]).then(() => "ended" as const);
  const timer = new AbortController();
  const late = delay(limitMs, "late" as const, { signal: timer.signal }).catch(() => "late" as const);
  const outcome = await Promise.race([ended, failed, late]);
  timer.abort();
  if (outcome !== "ended") await stopTree(child);
  current = undefined;
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
  if (outcome === "late") throw new Error(`not finished after ${Math.round(limitMs / 1000)} s, so it was stopped`);
  if (!answer) throw new Error(`its process ended with ${child.exitCode ?? child.signalCode}`);
  if ("error" in answer) throw new Error(answer.error);
  return answer.rows;
}

/** In the process of a bench: its name. */
export const nameOfChild = process.env[variable];

/** Runs in the process of a bench, and sends its rows or its error. */
export async function serveBench(run: () => Promise<Row[]>): Promise<never> {
  process.once("disconnect", () => process.exit(1));
  let answer: Answer;
  try {
    answer = { rows: await run() };
  } catch (error) {
    answer = { error: (error as Error).stack ?? String(error) };
  }
  await new Promise((resolve) => process.send!(answer, resolve));
  if ("rows" in answer) process.exit(0);
  // After an error, servers are left. run.ts stops them with this process.
  return await new Promise<never>(() => {});
}

/** Stops the bench that runs, for example after Ctrl-C, which reaches only this process. */
export async function stopCurrent(): Promise<void> {
  if (current) await stopTree(current);
}

async function stopTree(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  // Servers of other programs may have process groups of their own, so each process gets the signal.
  for (const pid of [...descendants(child.pid!), child.pid!]) signal(pid, "SIGTERM");
  await Promise.race([exited, delay(stopMs, undefined, { ref: false })]);
  signal(-child.pid!, "SIGKILL");
  if (child.exitCode === null && child.signalCode === null) await exited;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

function descendants(parent: number): number[] {
  if (!existsSync("/proc/self/stat")) return [];
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // The process ended since the list was read.
    }
  }
  const below = (pid: number): number[] =>
    [...parents].filter(([, of]) => of === pid).flatMap(([child]) => [child, ...below(child)]);
  return below(parent);
}
