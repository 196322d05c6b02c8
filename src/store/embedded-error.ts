/** What can go wrong with the embedded PostgreSQL, as one error whose message says what to do next. */

export type EmbeddedTrouble = "locked" | "version" | "permission" | "disk" | "unsupported" | "failed";

export class EmbeddedError extends Error {
  readonly code: EmbeddedTrouble;

  constructor(code: EmbeddedTrouble, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "EmbeddedError";
    this.code = code;
  }
}

/** Turns a file system failure into a sentence with its remedy; anything else passes through unchanged. */
export function explain(error: unknown, dataDir: string): unknown {
  if (error instanceof EmbeddedError || !(error instanceof Error)) return error;
  const { code, path } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : remedies[code];
  if (known === undefined) return error;
  const message = `The embedded database cannot use ${path ?? dataDir}: ${known.why}`;
  return new EmbeddedError(known.code, message, { cause: error });
}

/** Finds the reason in PostgreSQL's own words (its log, or initdb's stderr) and adds the remedy. */
export function explainOutput(doing: string, output: string, place: string): EmbeddedError {
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
    why: "permission denied. Run Posthorn as the owner of the data directory, or give it the directory with chown -R.",
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
    why: "a part of this path is a file. Set POSTHORN_DATA_DIR to a directory.",
  },
  EEXIST: {
    code: "permission",
    why: "a file is in the way. Set POSTHORN_DATA_DIR to a directory.",
  },
  ENOSPC: { code: "disk", why: "the disk is full. Free some space (about 150 MB are needed) and start again." },
  EDQUOT: {
    code: "disk",
    why: "the disk quota is used up. Free some space (about 150 MB are needed) and start again.",
  },
};

const outputs: (Remedy & { pattern: RegExp })[] = [
  { pattern: /No space left on device|Disk quota exceeded|Check free disk space/i, ...remedies.ENOSPC! },
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
