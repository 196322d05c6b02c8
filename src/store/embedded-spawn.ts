/** Starts PostgreSQL's programs under their own account, also where that account cannot follow the path to the data. Used by embedded-cluster.ts and embedded-server.ts. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import type { RunAs } from "./embedded-account.ts";

/** Where a program runs: `closed` says that its account cannot enter the directories above `home`. */
export type Ground = { home: string; closed: boolean };

/** PostgreSQL's programs must not see PGDATA, PGPORT and their like, which the operator set for others. */
export const cleanEnvironment = { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" };

/** The number of the descriptor that a program inherits, and the name of the directory behind it. */
const inherited = 3;
const behindDescriptor = `/proc/self/fd/${inherited}`;

/** Linux: a descriptor that names a directory and reads nothing from it. Node does not export it. */
const openPath = 0o10000000;

export const canInherit = () => process.platform === "linux" && existsSync("/proc/self/fd");

/**
 * The name by which a program of `ground` opens a path of ours. Below a closed directory that is the inherited descriptor: the
 * kernel resolves it without looking at the directories above, and PostgreSQL's own `..` stays inside.
 */
export function innerPath({ home, closed }: Ground, path: string): string {
  if (!closed) return path;
  const below = relative(home, path);
  if (below.startsWith("..") || isAbsolute(below)) return path;
  return join(behindDescriptor, below);
}

export type SpawnFor = {
  program: string;
  args: string[];
  runAs: RunAs | undefined;
  /** Where standard output and standard error go. */
  output: number | "ignore";
  errors: number | "pipe";
};

/** In a session of its own: a Ctrl-C meant for the program would end initdb half-way and the database before the drain. */
export function spawnFor(ground: Ground, { program, args, runAs, output, errors }: SpawnFor): ChildProcess {
  const directory = ground.closed ? openSync(ground.home, openPath | constants.O_DIRECTORY) : undefined;
  try {
    return spawn(program, args, {
      ...runAs,
      cwd: "/",
      env: cleanEnvironment,
      detached: true,
      stdio: ["ignore", output, errors, ...(directory === undefined ? [] : [directory])],
    });
  } finally {
    if (directory !== undefined) closeSync(directory);
  }
}
