/** Starts the program in other ways than startProgram: with npm, with an older Node, as leader of a process group. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { newDataDir, programEnv } from "./program.ts";
import { until } from "./wait.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
export const bin = join(root, "bin/posthorn.js");

/** A Node older than the one that the project installs, if the machine has one. */
export const olderNode = (process.env.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .filter((path) => existsSync(path))
  .find((path) => Number(spawnSync(path, ["-p", "process.versions.node.split('.')[0]"]).stdout) < 24);
export const withoutOlderNode = olderNode ? false : "no Node older than 24 is on the PATH";
if (withoutOlderNode && process.env.TEST_REQUIRE_FOREIGN) throw new Error(withoutOlderNode);

/** An interrupted test must not leave programs running. */
const children = new Set<ChildProcess>();
process.once("exit", () => children.forEach(endGroup));

export type Started = {
  child: ChildProcess;
  dataDir: string;
  output(): string;
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals | null>;
  /** The ports of the program, once it is running. */
  ports(): Promise<{ pid: number; http: number }>;
  remove(): Promise<void>;
};

export type StartOptions = { databaseUrl?: string; dataDir?: string; env?: Record<string, string> };

/** Starts a separate process group, so that `process.kill(-pid)` reaches all of its processes and no others. */
export async function startAs(command: string, args: string[], options: StartOptions = {}): Promise<Started> {
  const dataDir = options.dataDir ?? (await newDataDir());
  const child = spawn(command, args, {
    cwd: root,
    env: programEnv(dataDir, options),
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  child.stdin.on("error", () => {});
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once("close", (code, signal) => resolve(signal ?? code)),
  );
  children.add(child);
  return {
    child,
    dataDir,
    output: () => output,
    ended,
    ports: () =>
      until("the program to serve", async () => {
        if (child.exitCode !== null || child.signalCode !== null) return { pid: 0, http: 0 };
        const text = await readFile(join(dataDir, "ports.json"), "utf8");
        return output.includes("Posthorn is running") ? (JSON.parse(text) as { pid: number; http: number }) : undefined;
      }),
    async remove() {
      endGroup(child);
      children.delete(child);
      await ended;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function endGroup(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid!, "SIGKILL");
  } catch {
    // The group has already ended.
  }
}
