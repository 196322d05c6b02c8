/** The dot journal: a local file with the recipients whose final dot this process may have sent. After a crash, its successor on the same
 * machine reads it, so that only these recipients count as in doubt. Written without fsync: the file survives the process, not the
 * machine. doubts.ts reads it; app/assemble/delivery.ts opens it. */
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../ops/log.ts";
import type { Leased } from "./store/lease.ts";

/** A recipient whose final dot may have been sent, under this lease. */
export type Dot = { lease: string; workspaceId: string; emailId: string; position: number };

type DotRow = Pick<Leased, "lease" | "workspaceId" | "emailId" | "position">;
type File = { path: string; descriptor: number; bytes: number; open: number };

export type Journal = {
  /** What earlier processes of this machine left behind, as of now. */
  readLeft(): LeftJournal;
  /** Before a worker id takes leases: a file without the id says nothing about its leases. */
  cover(workerId: number): void;
  /** Before the final dot is sent. */
  sent(rows: readonly DotRow[]): void;
  /** After the results are stored. */
  settled(rows: readonly DotRow[]): void;
  close(): void;
};

export type JournalDeps = {
  folder: string;
  log: Log;
  /** Identifies the boot of the machine. Undefined: the system does not report it, and nothing is journaled. */
  bootId: string | undefined;
  /** A new file begins beyond this size. A file is deleted when everything in it is settled. */
  fileBytes?: number;
};

const suffix = ".dots";

export function openJournal({ folder, log, bootId, fileBytes = 1024 * 1024 }: JournalDeps): Journal {
  const prefix = `${process.pid}-${Date.now()}-`;
  const files = new Set<File>();
  const fileOf = new Map<DotRow, File>();
  const workers = new Set<number>();
  let current: File | undefined;
  let opened = 0;
  let disabled = bootId === undefined;

  function begin(): File {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${prefix}${opened++}${suffix}`);
    const file = { path, descriptor: openSync(path, "a", 0o600), bytes: 0, open: 0 };
    files.add(file);
    current = file;
    append(file, [`boot ${bootId}`, ...[...workers].map((id) => `worker ${id}`)]);
    return file;
  }

  function append(file: File, lines: readonly string[]): void {
    file.bytes += writeSync(file.descriptor, `${lines.join("\n")}\n`);
  }

  /** Without complete files, all leases of this process count as in doubt after a crash. */
  function giveUp(error: Error): void {
    disabled = true;
    for (const file of files) remove(file);
    log.warn(
      { reason: error.message },
      "cannot write the dot journal: after a crash, every leased recipient counts as in doubt",
    );
  }

  function remove(file: File): void {
    files.delete(file);
    closeSync(file.descriptor);
    rmSync(file.path, { force: true });
  }

  function record(lines: readonly string[], rows: readonly DotRow[] = []): void {
    if (disabled) return;
    try {
      const file = !current || current.bytes >= fileBytes ? begin() : current;
      append(file, lines);
      for (const row of rows) fileOf.set(row, file);
      file.open += rows.length;
    } catch (error) {
      giveUp(error as Error);
    }
  }

  return {
    readLeft: () => readJournals(folder, { bootId, own: prefix }),
    cover(workerId) {
      if (workers.has(workerId)) return;
      record([`worker ${workerId}`]);
      workers.add(workerId);
    },
    sent(rows) {
      record(rows.map(lineOf), rows);
    },
    settled(rows) {
      for (const row of rows) {
        const file = fileOf.get(row);
        if (!file) continue;
        fileOf.delete(row);
        file.open -= 1;
        if (file.open === 0 && file !== current && files.has(file)) remove(file);
      }
    },
    close() {
      disabled = true;
      for (const file of files) closeSync(file.descriptor);
      files.clear();
    },
  };
}

/** What an earlier process of this machine left behind. */
export type LeftJournal = { paths: string[]; workers: number[]; dots: Dot[] };

/**
 * Reads and keeps the files of processes that have ended: a process that still runs, or is frozen, may send further dots. Deletes the
 * files of an earlier boot, which may be incomplete.
 */
export function readJournals(
  folder: string,
  { bootId, own }: { bootId: string | undefined; own?: string },
): LeftJournal {
  const left: LeftJournal = { paths: [], workers: [], dots: [] };
  for (const name of listFiles(folder)) {
    if ((own !== undefined && name.startsWith(own)) || isRunning(Number(name.split("-")[0]))) continue;
    const path = join(folder, name);
    const text = readIfExists(path);
    // Another process has read it, and recorded what it says.
    if (text === undefined) continue;
    // A last line without an end was not written completely, so its dot was not sent.
    const [head, ...lines] = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
    if (bootId === undefined || head !== `boot ${bootId}`) {
      rmSync(path, { force: true });
      continue;
    }
    left.paths.push(path);
    for (const line of lines) {
      const [word, value, ...rest] = line.split(" ");
      if (word === "worker") left.workers.push(Number(value));
      else if (word === "dot") left.dots.push(dotOf([value!, ...rest]));
    }
  }
  return left;
}

/** The boot of this machine, from Linux; undefined on other systems. */
export function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}

/** A file with this process's own id is from an earlier process with the same id, as in a container. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(suffix));
  } catch {
    return [];
  }
}

function lineOf({ lease, workspaceId, emailId, position }: DotRow): string {
  return `dot ${lease} ${workspaceId} ${emailId} ${position}`;
}

function dotOf([lease, workspaceId, emailId, position]: string[]): Dot {
  return { lease: lease!, workspaceId: workspaceId!, emailId: emailId!, position: Number(position) };
}
