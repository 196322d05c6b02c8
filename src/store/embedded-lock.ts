/** One program per data directory: a lock that a kill -9 leaves behind but never leaves closed. Taken by embedded.ts. */
import { randomBytes } from "node:crypto";
import { type FileHandle, link, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { bootId, machineId, pidNamespace, processStart } from "./embedded-process.ts";

/** A program keeps the database for as long as it runs; a command has it for a moment, so a program waits for it. */
export type Role = "program" | "command";

export type Holder = {
  pid: number;
  start: string;
  boot: string;
  pidNamespace: string;
  role: Role;
  dataDir: string;
  socket: string;
  /** Empty where the machine has no id. Older releases left it out. */
  machine?: string;
  /** Device and inode of the lock file itself, which a copy of it does not have. Older releases left it out. */
  file?: string;
};

export type Lock = { release(): Promise<void> };

/** How often a holder shows that it lives, and how long it may be silent; only a look from another container depends on it. */
const beatMs = 2000;
const silentMs = 6000;

export type LockRequest = { home: string; dataDir: string; role: Role; socket: string };

/** `copied`: the lock came along with a copy of the holder's data directory, made while it ran or after it was killed. */
export type Taken = Lock | { holder: Holder } | { copied: Holder; path: string };

/**
 * Node has no flock, so the lock is a file that names its holder, one generation after another: `postgres.lock.7` is taken by
 * creating it with link(2), which one of many callers can do, and only when the holder of generation 6 is gone. Nobody ever
 * removes the newest generation of somebody else, so two programs that find the same dead holder cannot both win.
 */
export async function takeLock(request: LockRequest): Promise<Taken> {
  const { home } = request;
  for (;;) {
    const newest = await newestLock(home);
    const state = await judge(newest, request);
    if (newest?.holder !== undefined && state === "alive") return { holder: newest.holder };
    if (newest?.holder !== undefined && state === "copied") return { copied: newest.holder, path: newest.path };
    const generation = (newest?.generation ?? 0) + 1;
    const path = lockPath(home, generation);
    const file = await createOnce(path, describeSelf(request));
    if (file === undefined) continue;
    const after = await generations(home);
    // Another caller took a newer generation between our reading and our linking: ours does not count.
    if (after.some((other) => other > generation)) {
      await rm(path, { force: true });
      await file.close();
      continue;
    }
    for (const older of after) if (older < generation) await rm(lockPath(home, older), { force: true });
    return keep(path, file);
  }
}

/** Who runs on this data directory now, without asking for the lock. */
export async function lockHolder(request: Omit<LockRequest, "role">): Promise<Holder | undefined> {
  const newest = await newestLock(request.home);
  return (await judge(newest, request)) === "alive" ? newest?.holder : undefined;
}

/** The file stays open, so that no file system gives its inode number to another file. */
function keep(path: string, file: FileHandle): Lock {
  const beat = setInterval(() => void file.utimes(new Date(), new Date()).catch(() => {}), beatMs);
  beat.unref();
  return {
    async release() {
      clearInterval(beat);
      const [ours, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
      // Where the directory was moved and replaced by a copy of it, the copy keeps its mark.
      if (there !== undefined && identityOf(there) === identityOf(ours)) await rm(path, { force: true });
      await file.close();
    },
  };
}

function describeSelf({ dataDir, role, socket }: LockRequest): Holder {
  const start = processStart(process.pid) ?? "";
  const place = { boot: bootId(), machine: machineId(), pidNamespace: pidNamespace() };
  return { pid: process.pid, start, ...place, role, dataDir, socket };
}

type State = "free" | "alive" | "copied";

async function judge(found: Found | undefined, { dataDir, socket }: Omit<LockRequest, "role">): Promise<State> {
  if (found?.holder === undefined) return "free";
  const { holder, path } = found;
  const file = await stat(path).catch(() => undefined);
  if (file === undefined) return "free";
  if (await isRunning(holder, path, socket)) {
    // The process of this number runs, and this is not the file that it holds: it runs on the original.
    const held =
      holder.pidNamespace !== pidNamespace() || holder.file === undefined || holder.file === identityOf(file);
    return held ? "alive" : "copied";
  }
  // A device number may change when the machine restarts, so a lock that a power cut left behind is judged by less.
  const sameInode = holder.file === undefined || holder.file.split(":")[1] === identityOf(file).split(":")[1];
  if (sameInode) return "free";
  const otherMachine = Boolean(holder.machine) && machineId() !== "" && holder.machine !== machineId();
  return holder.dataDir !== dataDir || otherMachine ? "copied" : "free";
}

/** Tells a file from a copy of it while both exist. */
export function identityOf({ dev, ino }: { dev: number; ino: number }): string {
  return `${dev}:${ino}`;
}

async function isRunning(holder: Holder, path: string, socket: string): Promise<boolean> {
  if (holder.boot !== bootId()) return false;
  if (holder.pidNamespace === pidNamespace()) return processStart(holder.pid) === holder.start;
  // Another container on the same volume: its processes cannot be seen from here, but its server and its beats can.
  const first = (await stat(path).catch(() => undefined))?.mtimeMs;
  for (;;) {
    if (await accepts(socket)) return true;
    const beat = (await stat(path).catch(() => undefined))?.mtimeMs;
    if (beat === undefined || Date.now() - beat > silentMs) return false;
    if (beat !== first) return true;
    await delay(100);
  }
}

type Found = { generation: number; path: string; holder: Holder | undefined };

async function newestLock(home: string): Promise<Found | undefined> {
  const generation = Math.max(0, ...(await generations(home)));
  if (generation === 0) return undefined;
  const path = lockPath(home, generation);
  try {
    return { generation, path, holder: JSON.parse(await readFile(path, "utf8")) as Holder };
  } catch (error) {
    // Unreadable words after a power cut are nobody's lock; a file that went meanwhile was released.
    if (error instanceof SyntaxError) return { generation, path, holder: undefined };
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return newestLock(home);
    throw error;
  }
}

async function generations(home: string): Promise<number[]> {
  const names = await readdir(home);
  return names.flatMap((name) => /^postgres\.lock\.(\d+)$/.exec(name)?.[1] ?? []).map(Number);
}

function lockPath(home: string, generation: number): string {
  return join(home, `postgres.lock.${generation}`);
}

/** Writes the whole file under another name first, so that a reader never sees half of it. Undefined when the name is taken. */
async function createOnce(path: string, holder: Holder): Promise<FileHandle | undefined> {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  const file = await open(draft, "wx", 0o644);
  try {
    await file.writeFile(JSON.stringify({ ...holder, file: identityOf(await file.stat()) }));
    await link(draft, path);
    return file;
  } catch (error) {
    await file.close();
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return undefined;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Whether anything listens on a socket file. */
export function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
