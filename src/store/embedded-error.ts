/** What can go wrong with the data directory and the embedded PostgreSQL, as one error whose message says what to do next. */
import { statfs } from "node:fs/promises";
import { join, sep } from "node:path";

export type EmbeddedTrouble = "locked" | "copied" | "version" | "permission" | "disk" | "unsupported" | "failed";

export class EmbeddedError extends Error {
  readonly code: EmbeddedTrouble;

  constructor(code: EmbeddedTrouble, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "EmbeddedError";
    this.code = code;
  }
}

/**
 * Turns a failure of the file system or of a database without disk space into a sentence with its remedy; anything else passes
 * through unchanged.
 */
export async function explain(error: unknown, dataDir: string): Promise<unknown> {
  if (!(error instanceof Error)) return error;
  if (error instanceof EmbeddedError && error.code !== "failed") return error;
  const { code = "", path = dataDir, syscall = "" } = error as NodeJS.ErrnoException;
  const place = concerns(path, dataDir) ? `the data directory ${dataDir}` : path;
  if (saysFull(error)) return diskFull(place, error);
  const known = sockets.has(syscall) || (code === "ENOENT" && syscall !== "mkdir") ? undefined : remedies[code];
  if (known !== undefined)
    return new EmbeddedError(known.code, `Posthorn cannot use ${place}: ${known.why}`, { cause: error });
  // A server that finds no space for its log can neither write why it ended nor say so to a session.
  if (blamesDatabase(error) && (await isFull(dataDir))) return diskFull(`the data directory ${dataDir}`, error);
  return error;
}

/** Whether the path is the directory, lies in it, or is one of the directories above it. */
export function concerns(path: string, directory: string): boolean {
  const [a, b] = [join(path, sep), join(directory, sep)];
  return a.startsWith(b) || b.startsWith(a);
}

/** A listener that may not bind its port fails with the same codes. */
const sockets = new Set(["listen", "bind", "connect"]);

const noSpace = /No space left on device|Disk quota exceeded|Check free disk space/i;

function saysFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ENOSPC", "EDQUOT", "53100"].includes(code) || noSpace.test(error.message) || saysFull(error.cause);
}

function blamesDatabase(error: Error): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  const lost = /^(CONNECTION_LOST|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|(08|53|57|58|XX)\w{3})$/.test(code);
  const words = /Connection terminated|PostgreSQL does not answer|connect/i;
  return error instanceof EmbeddedError || lost || words.test(error.message);
}

/** Less than one segment of PostgreSQL's write-ahead log. */
const segmentBytes = 16 * 2 ** 20;

async function isFull(directory: string): Promise<boolean> {
  const found = await statfs(directory).catch(() => undefined);
  return found !== undefined && found.bavail * found.bsize < segmentBytes;
}

function diskFull(place: string, cause?: Error): EmbeddedError {
  return new EmbeddedError("disk", `The disk of ${place} is full. ${freeSpace}`, { cause });
}

const freeSpace = "Free some space (a new data directory needs about 150 MB) and start again.";

/** Finds the reason in PostgreSQL's own words (its log, or initdb's stderr) and adds the remedy. */
export function explainOutput(doing: string, output: string, place: string): EmbeddedError {
  if (noSpace.test(output)) return diskFull(place);
  const found = outputs.find(({ pattern }) => pattern.test(output));
  const lines = output.trim().split("\n").slice(-6).join("\n");
  const words = lines === "" ? "It printed nothing." : `It said:\n${lines}`;
  const remedy = found === undefined ? "" : ` ${found.why}`;
  return new EmbeddedError(found?.code ?? "failed", `${doing} failed in ${place}.${remedy} ${words}`);
}

type Remedy = { code: EmbeddedTrouble; why: string };

const remedies: Record<string, Remedy> = {
  EACCES: {
    code: "permission",
    why: "permission denied. Run Posthorn as the owner of the data directory, give it the directory with chown -R, or set POSTHORN_DATA_DIR to another directory.",
  },
  EPERM: {
    code: "permission",
    why: "not permitted. Run Posthorn as the owner of the data directory, or set DATABASE_URL to a PostgreSQL of your own.",
  },
  EROFS: {
    code: "permission",
    why: "the file system is read-only. Set POSTHORN_DATA_DIR to a directory that can be written.",
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
    why: "a directory on this path cannot be created: a link leads nowhere, or the file system is read-only. Set POSTHORN_DATA_DIR to a directory that can be written.",
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
    why: "The PostgreSQL inside the npm package does not fit this system's C library. Set DATABASE_URL to a PostgreSQL of your own.",
  },
  {
    pattern: /could not (?:create|resize|open) shared memory|could not map anonymous shared memory/i,
    code: "failed",
    why: "There is too little shared memory: give the machine or the container more (docker run --shm-size=256m).",
  },
  {
    pattern: /could not look up effective user ID/,
    code: "permission",
    why: "PostgreSQL wants its user to have a name: add this user id to /etc/passwd, run Posthorn as a named user, or set DATABASE_URL to a PostgreSQL of your own.",
  },
  {
    pattern: /lock file "[^"]+" already exists|pre-existing shared memory block/,
    code: "locked",
    why: "Another PostgreSQL still runs on this directory. It usually ends within seconds; else end it yourself.",
  },
  { pattern: /Permission denied|Operation not permitted/i, ...remedies.EACCES! },
];
