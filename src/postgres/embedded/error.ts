/** Errors of the data directory and the embedded PostgreSQL, each with a message that names the fix. app/ prints them and exits. */
import { statfs } from "node:fs/promises";
import { join, sep } from "node:path";

export type EmbeddedErrorCode = "locked" | "copied" | "version" | "permission" | "disk" | "unsupported" | "failed";

export class EmbeddedError extends Error {
  readonly code: EmbeddedErrorCode;

  constructor(code: EmbeddedErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "EmbeddedError";
    this.code = code;
  }
}

/**
 * Turns an error of the file system, or of a database without disk space, into an EmbeddedError with a fix. Returns any other error
 * unchanged.
 */
export async function explain(error: unknown, dataDir: string): Promise<unknown> {
  if (!(error instanceof Error)) return error;
  if (error instanceof EmbeddedError && error.code !== "failed") return error;
  const { code = "", path = dataDir, syscall = "" } = error as NodeJS.ErrnoException;
  const location = pathsOverlap(path, dataDir) ? `the data directory ${dataDir}` : path;
  if (isDiskFullError(error)) return diskFull(location, error);
  const known = socketCalls.has(syscall) || (code === "ENOENT" && syscall !== "mkdir") ? undefined : remedies[code];
  if (known !== undefined)
    return new EmbeddedError(known.code, `Posthorn cannot use ${location}: ${known.why}`, { cause: error });
  // Without space for its log, the server can neither write the reason to it nor send it to a session.
  if (isDatabaseError(error) && (await isFull(dataDir))) return diskFull(`the data directory ${dataDir}`, error);
  return error;
}

/** True when the path is the directory, is inside it, or is one of the directories above it. */
export function pathsOverlap(path: string, directory: string): boolean {
  const [a, b] = [join(path, sep), join(directory, sep)];
  return a.startsWith(b) || b.startsWith(a);
}

/** System calls of a listener or client, which fail with the same codes and have other fixes. */
const socketCalls = new Set(["listen", "bind", "connect"]);

const noSpace = /No space left on device|Disk quota exceeded|Check free disk space/i;

function isDiskFullError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ENOSPC", "EDQUOT", "53100"].includes(code) || noSpace.test(error.message) || isDiskFullError(error.cause);
}

function isDatabaseError(error: Error): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  const lost = /^(CONNECTION_LOST|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|(08|53|57|58|XX)\w{3})$/.test(code);
  const connectionMessage = /Connection terminated|PostgreSQL does not answer|connect/i;
  return error instanceof EmbeddedError || lost || connectionMessage.test(error.message);
}

/** The size of one segment of PostgreSQL's write-ahead log. With less free space the disk counts as full. */
const segmentBytes = 16 * 2 ** 20;

async function isFull(directory: string): Promise<boolean> {
  const found = await statfs(directory).catch(() => undefined);
  return found !== undefined && found.bavail * found.bsize < segmentBytes;
}

function diskFull(location: string, cause?: Error): EmbeddedError {
  return new EmbeddedError("disk", `The disk of ${location} is full. ${freeSpace}`, { cause });
}

const freeSpace = "Free some space (a new data directory needs about 150 MB) and start again.";

/** Finds the reason in PostgreSQL's output (its log, or initdb's stderr) and adds the fix. */
export function explainOutput(doing: string, output: string, location: string): EmbeddedError {
  if (noSpace.test(output)) return diskFull(location);
  const found = outputs.find(({ pattern }) => pattern.test(output));
  const lines = output.trim().split("\n").slice(-6).join("\n");
  const printed = lines === "" ? "It printed nothing." : `Output:\n${lines}`;
  const fix = found === undefined ? "" : ` ${found.why}`;
  return new EmbeddedError(found?.code ?? "failed", `${doing} failed in ${location}.${fix} ${printed}`);
}

type Remedy = { code: EmbeddedErrorCode; why: string };

const remedies: Record<string, Remedy> = {
  EACCES: {
    code: "permission",
    why: "permission denied. Run Posthorn as the owner of the data directory, change its owner with chown -R, or set POSTHORN_DATA_DIR to another directory.",
  },
  EPERM: {
    code: "permission",
    why: "not permitted. Run Posthorn as the owner of the data directory, or set DATABASE_URL to a PostgreSQL of your own.",
  },
  EROFS: {
    code: "permission",
    why: "the file system is read-only. Set POSTHORN_DATA_DIR to a writable directory.",
  },
  ENOTDIR: {
    code: "permission",
    why: "it is a file, or a part of its path is. Set POSTHORN_DATA_DIR to a directory.",
  },
  EEXIST: {
    code: "permission",
    why: "a file or a broken link is in the way. Set POSTHORN_DATA_DIR to a directory.",
  },
  ENOENT: {
    code: "permission",
    why: "a directory on this path cannot be created: a link is broken, or the file system is read-only. Set POSTHORN_DATA_DIR to a writable directory.",
  },
  ENAMETOOLONG: {
    code: "permission",
    why: "the path is too long. Set POSTHORN_DATA_DIR to a shorter one.",
  },
};

const outputs: (Remedy & { pattern: RegExp })[] = [
  {
    pattern: /GLIBC_|error while loading shared libraries|cannot open shared object file/,
    code: "unsupported",
    why: "The PostgreSQL in the npm package does not support this system's C library. Set DATABASE_URL to a PostgreSQL of your own.",
  },
  {
    pattern: /could not (?:create|resize|open) shared memory|could not map anonymous shared memory/i,
    code: "failed",
    why: "There is too little shared memory: give the machine or the container more (docker run --shm-size=256m).",
  },
  {
    pattern: /could not look up effective user ID/,
    code: "permission",
    why: "PostgreSQL needs a name for its user: add this user id to /etc/passwd, run Posthorn as a named user, or set DATABASE_URL to a PostgreSQL of your own.",
  },
  {
    pattern: /lock file "[^"]+" already exists|pre-existing shared memory block/,
    code: "locked",
    why: "Another PostgreSQL still runs on this directory. It usually stops within seconds; if not, stop it yourself.",
  },
  { pattern: /Permission denied|Operation not permitted/i, ...remedies.EACCES! },
];
