/** The lock that allows one program per data directory. After kill -9 its file stays, but the lock is free. Taken by embedded.ts. */
import { randomBytes } from "node:crypto";
import { type FileHandle, link, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { bootId, machineId, pidNamespace, processStart } from "./process.ts";

/** A program keeps the lock while it runs. A command keeps it briefly, so a starting program waits for it. */
export type LockRole = "program" | "command";

export type LockHolder = {
  pid: number;
  start: string;
  boot: string;
  pidNamespace: string;
  role: LockRole;
  dataDir: string;
  socket: string;
  /** Empty when the machine has no id. Older releases do not write it. */
  machine?: string;
  /** Device and inode of the lock file itself, which differ in a copy. Older releases do not write it. */
  file?: string;
};

export type Lock = { release(): Promise<void> };

/** The interval of a holder's heartbeat, and how long it may be missing. Only programs in other containers depend on it. */
const beatMs = 2000;
const silentMs = 6000;

export type LockRequest = { baseDir: string; dataDir: string; role: LockRole; socket: string };

/**
 * The lock, or the holder that has it. `copied`: the lock file is part of a copy of the holder's data directory, made while the
 * holder ran or after it was killed.
 */
export type LockResult = Lock | { holder: LockHolder } | { copied: LockHolder; path: string };

/**
 * Node has no flock, so the lock is a file that names its holder, with a generation number. A program takes `postgres.lock.7` by
 * creating it with link(2), which succeeds for one caller, and only when the holder of generation 6 has ended. A program never
 * removes the newest generation of another program, so two programs that find the same dead holder cannot both get the lock.
 */
export async function takeLock(request: LockRequest): Promise<LockResult> {
  const { baseDir } = request;
  for (;;) {
    const newest = await newestLock(baseDir);
    const state = await lockState(newest, request);
    if (newest?.holder !== undefined && state === "alive") return { holder: newest.holder };
    if (newest?.holder !== undefined && state === "copied") return { copied: newest.holder, path: newest.path };
    const generation = (newest?.generation ?? 0) + 1;
    const path = lockPath(baseDir, generation);
    const file = await createOnce(path, describeSelf(request));
    if (file === undefined) continue;
    const after = await generations(baseDir);
    // Another caller took a newer generation after we read the newest one, so ours is not valid.
    if (after.some((other) => other > generation)) {
      await rm(path, { force: true });
      await file.close();
      continue;
    }
    for (const older of after) if (older < generation) await rm(lockPath(baseDir, older), { force: true });
    return holdLock(path, file);
  }
}

/** The running holder of the lock, without taking it. */
export async function lockHolder(request: Omit<LockRequest, "role">): Promise<LockHolder | undefined> {
  const newest = await newestLock(request.baseDir);
  return (await lockState(newest, request)) === "alive" ? newest?.holder : undefined;
}

/** Sends the heartbeat. The file stays open, so that the file system does not reuse its inode number. */
function holdLock(path: string, file: FileHandle): Lock {
  const beat = setInterval(() => void file.utimes(new Date(), new Date()).catch(() => {}), beatMs);
  beat.unref();
  return {
    async release() {
      clearInterval(beat);
      const [ours, current] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
      // When the directory was moved and replaced by a copy, the copy keeps its lock file, which identifies it as a copy.
      if (current !== undefined && identityOf(current) === identityOf(ours)) await rm(path, { force: true });
      await file.close();
    },
  };
}

function describeSelf({ dataDir, role, socket }: LockRequest): LockHolder {
  const start = processStart(process.pid) ?? "";
  const machine = { boot: bootId(), machine: machineId(), pidNamespace: pidNamespace() };
  return { pid: process.pid, start, ...machine, role, dataDir, socket };
}

type State = "free" | "alive" | "copied";

async function lockState(found: LockFile | undefined, { dataDir, socket }: Omit<LockRequest, "role">): Promise<State> {
  if (found?.holder === undefined) return "free";
  const { holder, path } = found;
  const file = await stat(path).catch(() => undefined);
  if (file === undefined) return "free";
  if (await isRunning(holder, path, socket)) {
    // The holder runs but has another file open: it runs on the original, and this directory is a copy.
    const isHoldersFile =
      holder.pidNamespace !== pidNamespace() || holder.file === undefined || holder.file === identityOf(file);
    return isHoldersFile ? "alive" : "copied";
  }
  // The device number may change when the machine restarts, so after a power loss only the inode is compared.
  const sameInode = holder.file === undefined || holder.file.split(":")[1] === identityOf(file).split(":")[1];
  if (sameInode) return "free";
  const otherMachine = Boolean(holder.machine) && machineId() !== "" && holder.machine !== machineId();
  return holder.dataDir !== dataDir || otherMachine ? "copied" : "free";
}

/** Distinguishes a file from a copy of it while both exist. */
export function identityOf({ dev, ino }: { dev: number; ino: number }): string {
  return `${dev}:${ino}`;
}

async function isRunning(holder: LockHolder, path: string, socket: string): Promise<boolean> {
  if (holder.boot !== bootId()) return false;
  if (holder.pidNamespace === pidNamespace()) return processStart(holder.pid) === holder.start;
  // The holder is in another container on the same volume. Its process is not visible here, but its socket and its heartbeat are.
  // The machine's clock may have stepped since the last heartbeat, so only a change of the file's time counts, and not its age.
  const first = (await stat(path).catch(() => undefined))?.mtimeMs;
  const watchedSinceMs = performance.now();
  for (;;) {
    if (await isListening(socket)) return true;
    const beat = (await stat(path).catch(() => undefined))?.mtimeMs;
    if (beat === undefined) return false;
    if (beat !== first) return true;
    if (performance.now() - watchedSinceMs > silentMs) return false;
    await delay(100);
  }
}

type LockFile = { generation: number; path: string; holder: LockHolder | undefined };

async function newestLock(baseDir: string): Promise<LockFile | undefined> {
  const generation = Math.max(0, ...(await generations(baseDir)));
  if (generation === 0) return undefined;
  const path = lockPath(baseDir, generation);
  try {
    return { generation, path, holder: JSON.parse(await readFile(path, "utf8")) as LockHolder };
  } catch (error) {
    // A file that a power loss damaged has no holder. A file that has disappeared was released, so look for the newest again.
    if (error instanceof SyntaxError) return { generation, path, holder: undefined };
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return newestLock(baseDir);
    throw error;
  }
}

async function generations(baseDir: string): Promise<number[]> {
  const names = await readdir(baseDir);
  return names.flatMap((name) => /^postgres\.lock\.(\d+)$/.exec(name)?.[1] ?? []).map(Number);
}

function lockPath(baseDir: string, generation: number): string {
  return join(baseDir, `postgres.lock.${generation}`);
}

/** Writes the file under another name first, so that a reader never sees an incomplete one. Undefined when the path exists. */
async function createOnce(path: string, holder: LockHolder): Promise<FileHandle | undefined> {
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

/** True when a process listens on a socket file. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
