/** The folder of an export on disk: files that only grow, and a state file that says how much of them is valid. After a kill, a second run
 * cuts the files back to that state and continues. The folder is complete when it has a manifest. Called by export.ts. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Problem } from "../ops/problem.ts";
import type { Position } from "./store/export.ts";

/** Grows when the layout of an export changes. */
export const exportFormat = 1;

const stateFile = "export-state.json";
const lockFile = "export-lock";
export const manifestFile = "manifest.json";

export type FileState = { rows: number; bytes: number; position?: Position; isComplete: boolean };
export type ExportState = { format: number; subject: string; startedAt: string; files: Record<string, FileState> };

export type ManifestFile = { file: string; rows: number; bytes: number; sha256: string };

export type ExportFolder = {
  state: ExportState;
  isResumed: boolean;
  /** The state of a file, which begins empty. */
  file(name: string): FileState;
  append(name: string, lines: readonly string[]): Promise<void>;
  /** Writes the pieces to a new file, or over the one of a run that was killed. */
  writeContent(path: string, pieces: AsyncIterable<Buffer>): Promise<{ bytes: number; sha256: string }>;
  /** Makes what was written so far valid. At most twice a second, unless it is the end of a file. */
  checkpoint(options?: { now: boolean }): Promise<void>;
  /** Writes the manifest, after which the export is complete. */
  complete(manifest: object): Promise<void>;
  hashFiles(): Promise<ManifestFile[]>;
  close(): Promise<void>;
};

const checkpointMs = 500;

/** `subject`: the id of what is exported, so that two exports cannot mix. */
export async function openExportFolder(
  path: string,
  { subject, startedAt }: { subject: string; startedAt: string },
): Promise<ExportFolder> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await requireOwn(path);
  const names = await readdir(path);
  if (names.includes(manifestFile)) throw refused(`${path} has a complete export already. Choose another folder.`);
  const before = names.includes(stateFile) ? await readState(join(path, stateFile)) : undefined;
  if (!before && names.length > 0) throw refused(`${path} is not empty. Choose a new or an empty folder.`);
  if (before && before.subject !== subject)
    throw refused(`${path} has an unfinished export of ${before.subject}. Choose another folder.`);
  if (before && before.format !== exportFormat)
    throw refused(`${path} has an unfinished export of another version of Posthorn. Choose another folder.`);
  await chmod(path, 0o700);
  const release = await lock(join(path, lockFile), path);
  const state: ExportState = before ?? { format: exportFormat, subject, startedAt, files: {} };
  const handles = new Map<string, FileHandle>();
  let writtenAt = performance.now();

  async function handleOf(name: string): Promise<FileHandle> {
    let handle = handles.get(name);
    if (handle) return handle;
    handle = await open(join(path, name), "a", 0o600);
    handles.set(name, handle);
    // What is behind the last checkpoint is written again.
    await handle.truncate(folder.file(name).bytes);
    return handle;
  }

  const folder: ExportFolder = {
    state,
    isResumed: before !== undefined,
    file(name) {
      state.files[name] ??= { rows: 0, bytes: 0, isComplete: false };
      return state.files[name];
    },
    async append(name, lines) {
      const handle = await handleOf(name);
      if (lines.length === 0) return;
      const text = Buffer.from(`${lines.join("\n")}\n`);
      await handle.appendFile(text);
      const file = folder.file(name);
      file.rows += lines.length;
      file.bytes += text.length;
    },
    async writeContent(name, pieces) {
      const target = join(path, name);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      const handle = await open(target, "w", 0o600);
      const hash = createHash("sha256");
      let bytes = 0;
      try {
        for await (const piece of pieces) {
          await handle.appendFile(piece);
          hash.update(piece);
          bytes += piece.length;
        }
        // The next checkpoint says that this file is complete.
        await handle.datasync();
      } finally {
        await handle.close();
      }
      return { bytes, sha256: hash.digest("hex") };
    },
    async checkpoint({ now } = { now: false }) {
      if (!now && performance.now() - writtenAt < checkpointMs) return;
      for (const handle of handles.values()) await handle.datasync();
      await writeWhole(join(path, stateFile), JSON.stringify(state));
      writtenAt = performance.now();
    },
    async hashFiles() {
      const files: ManifestFile[] = [];
      for (const [file, { rows, bytes }] of Object.entries(state.files).sort(([a], [b]) => (a < b ? -1 : 1)))
        files.push({ file, rows, bytes, sha256: await hashFile(join(path, file)) });
      return files;
    },
    async complete(manifest) {
      await writeWhole(join(path, manifestFile), `${JSON.stringify(manifest, undefined, 2)}\n`);
      await rm(join(path, stateFile), { force: true });
    },
    async close() {
      for (const handle of handles.values()) await handle.close();
      await release();
    },
  };
  if (!before) await folder.checkpoint({ now: true });
  return folder;
}

/** In a folder of another account, that account could replace files by links to others, which we would overwrite. */
async function requireOwn(path: string): Promise<void> {
  const stats = await lstat(path);
  if (!stats.isDirectory() || (process.getuid !== undefined && stats.uid !== process.getuid()))
    throw refused(`${path} is a link or belongs to another account. Choose a new folder.`);
  if ((stats.mode & 0o022) !== 0) throw refused(`Other accounts can write to ${path}. Choose a new folder.`);
}

async function readState(path: string): Promise<ExportState> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as ExportState;
  } catch (error) {
    throw refused(`${path} cannot be read. Delete the folder, and export again.`, error);
  }
}

/** One process at a time. The file of a process that has ended is replaced. */
async function lock(path: string, folder: string): Promise<() => Promise<void>> {
  const holder = await readFile(path, "utf8").catch(() => undefined);
  if (holder !== undefined && isRunning(Number(holder)))
    throw refused(`The process ${holder} is writing an export to ${folder}. Wait until it has finished.`);
  if (holder !== undefined) await rm(path, { force: true });
  const file = await open(path, "wx", 0o600).catch((error) => {
    throw refused(`Another process is writing an export to ${folder}.`, error);
  });
  await file.writeFile(String(process.pid));
  await file.close();
  return () => rm(path, { force: true });
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** A reader sees the old file or the new one, never a part. */
async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`;
  const file = await open(draft, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  if ((await stat(path)).size > 0) for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

function refused(message: string, cause?: unknown): Problem {
  return new Problem("failed_precondition", message, { cause });
}
