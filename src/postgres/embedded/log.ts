/** PostgreSQL's own log, `postgres.log` in the data directory: the server appends to it, and this file limits its size. */
import {
  closeSync,
  constants,
  copyFileSync,
  fchownSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";

type Write = (facts: object, message: string) => void;

/** The part of the program's log that the embedded server needs. */
export type EmbeddedLog = { info: Write; warn: Write; error: Write };

export type ServerLog = {
  /** The current end of the log. */
  mark(): number;
  /** The text written since a mark, at most its last 8 kB. */
  since(mark: number): string;
  /** Opens a descriptor for the server to inherit, because its own account may not be able to write there. */
  open(): number;
  close(): void;
};

const maxBytes = 8 * 2 ** 20;
const append = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** The server keeps its descriptor open in append mode, even after our program ends, so the file is copied and truncated, not renamed. */
export function createServerLog(dataDir: string, checkMs = 10_000): ServerLog {
  const path = join(dataDir, "postgres.log");
  const size = () => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const rotateIfLarge = () => {
    if (size() > maxBytes) rotate(path);
  };
  rotateIfLarge();
  const timer = setInterval(rotateIfLarge, checkMs);
  timer.unref();
  return {
    mark: size,
    since: (mark) => readFrom(path, size() < mark ? 0 : Math.max(mark, size() - 8192)),
    open() {
      const file = openSync(path, append, 0o600);
      const owner = statSync(dataDir);
      if (process.getuid?.() === 0) fchownSync(file, owner.uid, owner.gid);
      return file;
    },
    close: () => clearInterval(timer),
  };
}

function rotate(path: string): void {
  try {
    rmSync(`${path}.1`, { force: true });
    copyFileSync(path, `${path}.1`, constants.COPYFILE_EXCL);
  } catch {
    // On a full disk the copy fails. The size limit is more important than the old lines.
  }
  const file = openSync(path, append);
  ftruncateSync(file, 0);
  closeSync(file);
}

function readFrom(path: string, from: number): string {
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.alloc(8192);
    return buffer.toString("utf8", 0, readSync(file, buffer, 0, buffer.length, from));
  } finally {
    closeSync(file);
  }
}
