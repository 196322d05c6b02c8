/**
 * The account that PostgreSQL runs under, and starting its programs under it. The account is ours, or for root, which PostgreSQL
 * refuses, an unprivileged one. Used by the other files of this folder.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, existsSync, openSync, readFileSync } from "node:fs";
import { lchown, readdir, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import { EmbeddedError } from "./error.ts";

/** Options for spawn; where it is optional, undefined means our own account. */
export type RunAs = { uid: number; gid: number };

/**
 * In the range that systemd's list of uids leaves unused (60706–61183), and below 65536 so that it also exists in a container.
 * The server needs no entry in /etc/passwd, and a separate account keeps other daemons that run as `nobody` out of the data.
 */
const ownUid = 60825;
const lastUid = 61183;

/** For root: the owner of the cluster or of the data directory, unless that is root; else a free uid of our range. */
export async function chooseAccount(cluster: string, dataDir: string): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const path of [cluster, dataDir]) {
    const owner = await stat(path).catch(() => undefined);
    if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  const taken = new Set(accounts().map(({ uid }) => uid));
  for (let uid = ownUid; uid <= lastUid; uid++) if (!taken.has(uid)) return { uid, gid: uid };
  return initdbAccount({ uid: ownUid, gid: ownUid });
}

/**
 * initdb, unlike the server, requires a name for its uid. It runs under an account with a name, in the server's group, and the files
 * get their owner afterwards. Other processes of that account are not in the group and cannot enter a 0710 directory.
 */
export function initdbAccount(runAs: RunAs): RunAs {
  const known = accounts();
  if (known.some(({ uid }) => uid === runAs.uid)) return runAs;
  const byName = ["nobody", "postgres", "daemon"].map((name) => known.find((account) => account.name === name));
  const found = byName.find((account) => account !== undefined) ?? known.find(({ uid }) => uid !== 0);
  if (found !== undefined) return { uid: found.uid, gid: runAs.gid };
  const message =
    "PostgreSQL does not run as root and /etc/passwd names no other account. Start Posthorn as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.";
  throw new EmbeddedError("permission", message);
}

function accounts(): { name: string; uid: number; gid: number }[] {
  let text = "";
  try {
    text = readFileSync("/etc/passwd", "utf8");
  } catch {}
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid] = line.split(":");
    return name && /^\d+$/.test(uid ?? "") && /^\d+$/.test(gid ?? "")
      ? [{ name, uid: Number(uid), gid: Number(gid) }]
      : [];
  });
}

/** True when the mode bits of this directory and of all directories above it let the account in. */
export async function canEnter(directory: string, account: RunAs): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    if (!maySearch(await stat(path), account)) return false;
    if (path === dirname(path)) return true;
  }
}

/** True when the mode bits of this one directory let the account in. */
export function maySearch(found: { mode: number; uid: number; gid: number }, { uid, gid }: RunAs): boolean {
  const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0;
  return ((found.mode >> shift) & 1) === 1;
}

/** chown -R from the top, so that the previous owner loses access before anything below changes. */
export async function chownTree(path: string, { uid, gid }: RunAs): Promise<void> {
  await lchown(path, uid, gid);
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await chownTree(child, { uid, gid });
    else await lchown(child, uid, gid);
  }
}

/** The directory that a program works in. `closed`: its account cannot enter the directories above it. */
export type WorkDir = { baseDir: string; closed: boolean };

/** PostgreSQL's programs must not read PGDATA, PGPORT and similar variables, which the operator set for another server. */
export const cleanEnvironment = { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" };

/** The path of the base directory in a program that inherits it as a descriptor. */
const inheritedDescriptor = 3;
const inheritedPath = `/proc/self/fd/${inheritedDescriptor}`;

/** Linux's O_PATH: a descriptor that only identifies a directory. Node does not export it. */
const openPath = 0o10000000;

/** True when a program can reach the base directory through an inherited descriptor. */
export const canInherit = () => process.platform === "linux" && existsSync("/proc/self/fd");

/**
 * The path under which a program opens one of our files. Below a closed directory it goes through the inherited descriptor, which the
 * kernel resolves without checking the directories above; PostgreSQL's own `..` stays inside it.
 */
export function innerPath({ baseDir, closed }: WorkDir, path: string): string {
  if (!closed) return path;
  const below = relative(baseDir, path);
  if (below.startsWith("..") || isAbsolute(below)) return path;
  return join(inheritedPath, below);
}

export type SpawnOptions = {
  program: string;
  args: string[];
  runAs: RunAs | undefined;
  /** Standard output. */
  output: number | "ignore";
  /** Standard error. */
  errors: number | "pipe";
};

/** Starts a program in its own session: Ctrl-C in the terminal must not end initdb or the server before our program has drained. */
export function spawnIn(workDir: WorkDir, { program, args, runAs, output, errors }: SpawnOptions): ChildProcess {
  const directory = workDir.closed ? openSync(workDir.baseDir, openPath | constants.O_DIRECTORY) : undefined;
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
