/** A copy of the embedded database while it runs, and the way back. PostgreSQL's own tools for this are not in the package, so the
 * steps are those of its manual's low-level backup. Called by the commands backup and restore. */
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, open, readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Sql } from "./db.ts";
import { lockOrRefuse, openEmbedded } from "./embedded.ts";
import { giveTo } from "./embedded-account.ts";
import { removeDrafts } from "./embedded-cluster.ts";
import { EmbeddedError, explain } from "./embedded-error.ts";
import {
  database,
  type Facts,
  findHome,
  type Home,
  homeOf,
  readFacts,
  socketUrl,
  syncPath,
  user,
  writeFacts,
} from "./embedded-home.ts";
import type { Lock } from "./embedded-lock.ts";
import type { EmbeddedLog } from "./embedded-log.ts";

export type CopiedCluster = { bytes: number; files: number; password: string };

/** `to` is a folder that exists; the cluster is put into `postgres` in it. */
export async function copyEmbedded(options: {
  dataDir: string;
  log: EmbeddedLog;
  to: string;
  /** Told after each file how much is copied. */
  onProgress?: (bytes: number) => void;
}): Promise<CopiedCluster> {
  const server = await openEmbedded(options);
  try {
    const facts = (await readFacts(options.dataDir))!;
    const cluster = join(homeOf(await realpath(options.dataDir), facts), "postgres");
    // The URL of the server that was opened, and not the one in the facts.
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

/** "Making a Base Backup Using the Low Level API": start and stop belong to one session, and the log of all changes in between to the copy. */
async function copyWhileRunning(session: pg.Client, { cluster, to, copied }: CopyTask): Promise<Copied> {
  // A slot of this session keeps the server from recycling the log while we read; it goes with the session.
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
    // Names of segments sort as the log runs.
    if (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last)
      await copyOne(join(cluster, "pg_wal", name), join(to, "pg_wal", name), copied);
  }
  await writeFile(join(to, "backup_label"), label, { mode: 0o600, flush: true });
  await likeItsFolder(join(to, "backup_label"));
  await syncAll(copied.paths);
  return copied;
}

type Copied = { bytes: number; paths: string[]; onProgress?: (bytes: number) => void };
type CopyTask = { cluster: string; to: string; copied: Copied };

/** Contents that the server makes anew, by the manual; of these folders only the folder itself is copied. */
const emptied = new Set(
  ["wal", "replslot", "dynshmem", "notify", "serial", "snapshots", "stat_tmp", "subtrans"].map((name) => `pg_${name}`),
);
const left = /^(postmaster\.(pid|opts)|\.s\.PGSQL\..*|pgsql_tmp.*|pg_internal\.init.*|backup_label|tablespace_map)$/;

async function copyTree(from: string, to: string, inner: string, copied: Copied): Promise<void> {
  const { mode, uid, gid } = await lstat(from);
  await mkdir(to, { mode: 0o700 });
  await chmod(to, mode & 0o777);
  if (process.getuid?.() === 0) await chown(to, uid, gid);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (left.test(entry.name)) continue;
    const [source, target, path] = [join(from, entry.name), join(to, entry.name), join(inner, entry.name)];
    if (entry.isDirectory() && emptied.has(path)) await copyEmpty(source, target);
    else if (entry.isDirectory()) await copyTree(source, target, path, copied).catch(unlessGone);
    else if (entry.isFile()) await copyOne(source, target, copied).catch(unlessGone);
  }
  copied.paths.push(to);
}

/** pg_wal and pg_notify must be there; what they hold is added later or not at all. */
async function copyEmpty(from: string, to: string): Promise<void> {
  const { mode, uid, gid } = await lstat(from);
  await mkdir(to, { mode: mode & 0o777 });
  if (process.getuid?.() === 0) await chown(to, uid, gid);
}

const chunkBytes = 1024 * 1024;

/** A file may grow or shrink meanwhile: what matters is in the log. */
async function copyOne(from: string, to: string, copied: Copied): Promise<void> {
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

/** After all is written, and many at a time: a database has thousands of small files, and each wait alone would be for the whole disk. */
async function syncAll(paths: readonly string[]): Promise<void> {
  const rest = paths.values();
  const worker = async () => {
    for (const path of rest) await syncPath(path);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** A dropped table's file may go while we walk: the log drops it from the copy as well. */
function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

async function likeItsFolder(path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await lstat(join(path, ".."));
  await chown(path, uid, gid);
}

/** The space that a copy takes: all databases, and 64 MiB for the log of changes and for the server, which may write to the same disk. */
export async function spaceForCopy(sql: Sql): Promise<number> {
  const [row] = await sql<{ bytes: string }[]>`select sum(pg_database_size(oid))::text as bytes from pg_database`;
  return Number(row!.bytes) + 64 * 2 ** 20;
}

export type Place = {
  dataDir: string;
  from: string;
  password: string;
  /** Called when the copy is complete and before it counts, for the files that belong to it. */
  placeOthers: () => Promise<unknown>;
};

/** Puts a copy in place of a database that must not be there yet. Holds the lock, so that a program that starts meanwhile waits. */
export async function placeEmbedded(options: Place): Promise<void> {
  let lock: Lock | undefined;
  try {
    const home = await findHome(options.dataDir);
    refuseExisting(home);
    lock = await lockOrRefuse(home, "command");
    refuseExisting(home);
    await removeDrafts(home.home);
    await placeLocked(home, options);
  } catch (error) {
    throw await explain(error, options.dataDir);
  } finally {
    await lock?.release();
  }
}

function refuseExisting({ cluster }: Home): void {
  if (!existsSync(cluster)) return;
  const message = `There is a database in ${cluster} already. Restore into another data directory, or move that one away.`;
  throw new EmbeddedError("failed", message);
}

async function placeLocked(home: Home, { from, password, placeOthers }: Place): Promise<void> {
  const draft = `${home.cluster}.restoring-${process.pid}`;
  try {
    const copied: Copied = { bytes: 0, paths: [] };
    await copyTree(join(from, "postgres"), draft, "", copied);
    const log = join(from, "postgres/pg_wal");
    for (const name of await readdir(log)) await copyOne(join(log, name), join(draft, "pg_wal", name), copied);
    await copyOne(join(from, "postgres/backup_label"), join(draft, "backup_label"), copied);
    await syncAll(copied.paths);
    if (home.runAs !== undefined) await giveTo(draft, home.runAs);
    await placeOthers();
    const facts: Facts = { password, url: socketUrl(home.socketDir, password) };
    if (home.home !== home.dataDir) facts.home = home.home;
    await writeFacts(home.dataDir, facts);
    await rename(draft, home.cluster);
    await syncPath(home.home);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
