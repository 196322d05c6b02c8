/**
 * Copies the embedded database while it runs, and restores such a copy. The npm package does not contain pg_basebackup, so this
 * follows the low-level backup of PostgreSQL's manual. Called by the commands backup and restore.
 */
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, open, readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Sql } from "../pool.ts";
import { chownTree } from "./account.ts";
import { removeDrafts } from "./cluster.ts";
import { lockOrRefuse, openEmbedded } from "./embedded.ts";
import { EmbeddedError, explain } from "./error.ts";
import {
  baseDirOf,
  type ClusterLocation,
  database,
  type Facts,
  locateCluster,
  readFacts,
  socketUrl,
  syncPath,
  user,
  writeFacts,
} from "./location.ts";
import type { Lock } from "./lock.ts";
import type { EmbeddedLog } from "./log.ts";

export type CopiedCluster = { bytes: number; files: number; password: string };

/** Copies the cluster to `postgres` in the existing folder `to`. */
export async function copyEmbedded(options: {
  dataDir: string;
  log: EmbeddedLog;
  to: string;
  /** Called after each file with the number of bytes copied so far. */
  onProgress?: (bytes: number) => void;
}): Promise<CopiedCluster> {
  const server = await openEmbedded(options);
  try {
    const facts = (await readFacts(options.dataDir))!;
    const cluster = join(baseDirOf(await realpath(options.dataDir), facts), "postgres");
    // The URL of the opened server: the one in postgres.json may be that of another directory.
    const host = decodeURIComponent(new URL(server.url).hostname);
    const session = new pg.Client({ host, user, password: facts.password, database });
    session.on("error", () => {});
    await session.connect();
    try {
      const copied: Copied = { bytes: 0, paths: [], onProgress: options.onProgress };
      const { bytes, paths } = await copyWhileRunning(session, { cluster, to: join(options.to, "postgres"), copied });
      return { bytes, files: paths.length, password: facts.password };
    } finally {
      await session.end();
    }
  } finally {
    await server.stop();
  }
}

/**
 * "Making a Base Backup Using the Low Level API" in the manual: one session starts and stops the backup, and the copy includes the
 * write-ahead log of all changes in between.
 */
async function copyWhileRunning(session: pg.Client, { cluster, to, copied }: CopyTask): Promise<Copied> {
  // A temporary slot keeps the server from recycling the log during the copy. It ends with the session.
  await session.query("select pg_create_physical_replication_slot('posthorn_backup_' || pg_backend_pid(), true, true)");
  const began = await session.query(
    "select pg_walfile_name(lsn) as segment from (select pg_backup_start('posthorn backup', true) as lsn) started",
  );
  await copyTree(cluster, to, "", copied);
  const ended = await session.query(
    "select pg_walfile_name(lsn) as segment, labelfile as label from pg_backup_stop(false)",
  );
  const [{ segment: first }] = began.rows as [{ segment: string }];
  const [{ segment: last, label }] = ended.rows as [{ segment: string; label: string }];
  for (const name of await readdir(join(cluster, "pg_wal"))) {
    // The names of segments sort in the order of the log.
    if (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last)
      await copyFile(join(cluster, "pg_wal", name), join(to, "pg_wal", name), copied);
  }
  await writeFile(join(to, "backup_label"), label, { mode: 0o600, flush: true });
  await chownLikeParent(join(to, "backup_label"));
  await syncAll(copied.paths);
  return copied;
}

type Copied = { bytes: number; paths: string[]; onProgress?: (bytes: number) => void };
type CopyTask = { cluster: string; to: string; copied: Copied };

/** Folders whose content the server recreates, according to the manual. They are copied empty. */
const copiedEmpty = new Set(
  ["wal", "replslot", "dynshmem", "notify", "serial", "snapshots", "stat_tmp", "subtrans"].map((name) => `pg_${name}`),
);
const skipped = /^(postmaster\.(pid|opts)|\.s\.PGSQL\..*|pgsql_tmp.*|pg_internal\.init.*|backup_label|tablespace_map)$/;

async function copyTree(from: string, to: string, inner: string, copied: Copied): Promise<void> {
  const { mode, uid, gid } = await lstat(from);
  await mkdir(to, { mode: 0o700 });
  await chmod(to, mode & 0o777);
  if (process.getuid?.() === 0) await chown(to, uid, gid);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (skipped.test(entry.name)) continue;
    const [source, target, path] = [join(from, entry.name), join(to, entry.name), join(inner, entry.name)];
    if (entry.isDirectory() && copiedEmpty.has(path)) await copyEmpty(source, target);
    else if (entry.isDirectory()) await copyTree(source, target, path, copied).catch(ignoreMissing);
    else if (entry.isFile()) await copyFile(source, target, copied).catch(ignoreMissing);
  }
  copied.paths.push(to);
}

/** Creates the folder without its content: the server needs pg_wal, pg_notify and others to exist. */
async function copyEmpty(from: string, to: string): Promise<void> {
  const { mode, uid, gid } = await lstat(from);
  await mkdir(to, { mode: mode & 0o777 });
  if (process.getuid?.() === 0) await chown(to, uid, gid);
}

const chunkBytes = 1024 * 1024;

/** The server may change the file during the copy; recovery replays those changes from the log. */
async function copyFile(from: string, to: string, copied: Copied): Promise<void> {
  const source = await open(from, "r");
  try {
    const { mode, uid, gid } = await source.stat();
    const target = await open(to, "wx", mode & 0o777);
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      for (;;) {
        const { bytesRead } = await source.read(chunk, 0, chunkBytes, null);
        if (bytesRead === 0) break;
        await target.writeFile(chunk.subarray(0, bytesRead));
        copied.bytes += bytesRead;
      }
      if (process.getuid?.() === 0) await target.chown(uid, gid);
      copied.paths.push(to);
      copied.onProgress?.(copied.bytes);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Flushes all files at the end, 16 at a time: a database has thousands of small files, and one flush after the other would be slow. */
async function syncAll(paths: readonly string[]): Promise<void> {
  const rest = paths.values();
  const worker = async () => {
    for (const path of rest) await syncPath(path);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** The file of a dropped table may disappear during the copy. Recovery drops it from the copy as well. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

async function chownLikeParent(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await lstat(join(path, ".."));
  await chown(path, uid, gid);
}

/** The disk space for a copy: all databases, and 64 MiB for the write-ahead log and for the server, which may use the same disk. */
export async function spaceForCopy(sql: Sql): Promise<number> {
  const [row] = await sql<{ bytes: string }[]>`select sum(pg_database_size(oid))::text as bytes from pg_database`;
  return Number(row!.bytes) + 64 * 2 ** 20;
}

export type RestoreOptions = {
  dataDir: string;
  from: string;
  password: string;
  /** Called when the copy is complete and before it becomes the database, to restore the other files of the backup. */
  restoreOtherFiles: () => Promise<unknown>;
  /** Called after each file with the number of bytes copied so far. */
  onProgress?: (bytes: number) => void;
};

/** Restores a copy into a data directory without a database. Holds the lock, so that a program that starts meanwhile waits. */
export async function restoreEmbedded(options: RestoreOptions): Promise<void> {
  let lock: Lock | undefined;
  try {
    const location = await locateCluster(options.dataDir);
    refuseExisting(location);
    lock = await lockOrRefuse(location, "command");
    refuseExisting(location);
    await removeDrafts(location.baseDir);
    await restoreLocked(location, options);
  } catch (error) {
    throw await explain(error, options.dataDir);
  } finally {
    await lock?.release();
  }
}

function refuseExisting({ cluster }: ClusterLocation): void {
  if (!existsSync(cluster)) return;
  const message = `There is already a database in ${cluster}. Restore into another data directory, or move that one away.`;
  throw new EmbeddedError("failed", message);
}

async function restoreLocked(
  location: ClusterLocation,
  { from, password, restoreOtherFiles, onProgress }: RestoreOptions,
): Promise<void> {
  const draft = `${location.cluster}.restoring-${process.pid}`;
  try {
    const copied: Copied = { bytes: 0, paths: [], onProgress };
    await copyTree(join(from, "postgres"), draft, "", copied);
    const wal = join(from, "postgres/pg_wal");
    for (const name of await readdir(wal)) await copyFile(join(wal, name), join(draft, "pg_wal", name), copied);
    await copyFile(join(from, "postgres/backup_label"), join(draft, "backup_label"), copied);
    await syncAll(copied.paths);
    if (location.runAs !== undefined) await chownTree(draft, location.runAs);
    await restoreOtherFiles();
    const facts: Facts = { password, url: socketUrl(location.socketDir, password) };
    if (location.baseDir !== location.dataDir) facts.home = location.baseDir;
    await writeFacts(location.dataDir, facts);
    await rename(draft, location.cluster);
    await syncPath(location.baseDir);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
