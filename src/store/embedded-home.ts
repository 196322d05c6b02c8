/** Where the cluster, its socket and the facts about it live. Made by embedded.ts, read by every command on the same data directory. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, chown, lstat, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { canEnter, chooseAccount, maySearch, type RunAs } from "./embedded-account.ts";
import { EmbeddedError } from "./embedded-error.ts";
import { canInherit } from "./embedded-spawn.ts";

export type Home = {
  dataDir: string;
  /** Holds the cluster and the lock: the data directory. Older releases put both under /var/lib/posthorn where PostgreSQL's account cannot enter that. */
  home: string;
  cluster: string;
  socketDir: string;
  runAs: RunAs | undefined;
  /** The account cannot enter the directories above `home`: PostgreSQL gets an open descriptor instead of a path. */
  closed: boolean;
};

/** `postgres.json` in the data directory, readable by its owner alone. */
export type Facts = {
  password: string;
  url: string;
  /** Only where an older release put the cluster elsewhere. */
  home?: string;
};

export const rootPlace = "/var/lib/posthorn";
export const port = 5432;
export const user = "posthorn";
export const database = "posthorn";

/** sockaddr_un holds 107 bytes on Linux and 103 on macOS. */
const longestSocket = 103;

export async function findHome(wanted: string): Promise<Home> {
  const dataDir = await makeDataDir(wanted);
  const home = homeOf(dataDir, await readFacts(dataDir));
  const runAs = await chooseAccount(join(home, "postgres"), dataDir);
  if (runAs !== undefined) await letPass(home, runAs);
  const closed = runAs !== undefined && !(await canEnter(home, runAs));
  if (closed && !canInherit()) throw shutOut(dataDir, runAs);
  const cluster = join(home, "postgres");
  return { dataDir, home, cluster, runAs, closed, socketDir: await chooseSocketDir(cluster, runAs) };
}

/** The place that an older release chose: its name follows from the real path of the data directory. */
export function olderHome(dataDir: string): string {
  return join(rootPlace, shortHash(dataDir));
}

/**
 * Where the cluster of this data directory is. A start that was killed after it moved one leaves facts that still name the old
 * place, which is empty then. Facts that name another instance's place were copied or moved with their directory.
 */
export function homeOf(dataDir: string, facts: Facts | undefined): string {
  if (facts?.home === undefined) return dataDir;
  if (holdsCluster(dataDir)) {
    if (holdsCluster(facts.home)) throw twoClusters(dataDir, facts.home);
    return dataDir;
  }
  if (facts.home !== olderHome(dataDir)) throw foreign(dataDir, facts.home);
  if (!holdsCluster(facts.home)) throw missing(dataDir, facts.home);
  return facts.home;
}

export function holdsCluster(home: string): boolean {
  return existsSync(join(home, "postgres", "PG_VERSION"));
}

/** Made with mode 0700, so that no other account looks inside before its files are there. */
export async function makeDataDir(wanted: string): Promise<string> {
  await mkdir(dirname(wanted), { recursive: true });
  // Not recursive: that way Node calls a read-only file system a missing directory.
  await mkdir(wanted, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    const found = await stat(wanted).catch(() => undefined);
    if (error.code !== "EEXIST" || !found?.isDirectory()) throw error;
  });
  return realpath(wanted);
}

/** Lets the server's group, and no other account, pass through a directory of root's. */
export async function letPass(directory: string, account: RunAs): Promise<void> {
  const found = await stat(directory);
  if (maySearch(found, account)) return;
  if (found.uid !== 0 || (found.mode & 0o077) !== 0) throw notSearchable(directory, account);
  await chown(directory, found.uid, account.gid);
  await chmod(directory, 0o710);
}

/** A directory of root's that everyone may enter, whatever the umask says. */
export async function makeOpen(directory: string): Promise<void> {
  if ((await mkdir(directory, { recursive: true })) !== undefined) await chmod(directory, 0o755);
}

function shutOut(dataDir: string, { uid }: RunAs): EmbeddedError {
  const message = `PostgreSQL runs under uid ${uid} because it refuses root, and that account cannot enter ${dataDir}. Set POSTHORN_DATA_DIR to a directory that every account may pass through (chmod o+x on each directory above it), or run Posthorn as an ordinary user.`;
  return new EmbeddedError("permission", message);
}

function notSearchable(directory: string, { uid }: RunAs): EmbeddedError {
  const message = `PostgreSQL runs under uid ${uid} because it refuses root, and the mode of ${directory} keeps that account out. Run: chmod o+x ${directory}`;
  return new EmbeddedError("permission", message);
}

/**
 * The commands that move a cluster by hand, also onto another file system. There `mv` alone copies file by file, and an interrupted one
 * leaves a part of a cluster under the final name.
 */
export function moveByHand(dataDir: string, home: string): string {
  const target = `${dataDir}/postgres`;
  const taken = [target, `${target}.moving`].filter((path) => existsSync(path));
  const first = taken.length === 0 ? "" : `move ${taken.join(" and ")} away and run: `;
  return `${first}cp -a ${home}/postgres ${target}.moving && mv ${target}.moving ${target} && mv ${home}/postgres ${home}/postgres.old`;
}

function twoClusters(dataDir: string, home: string): EmbeddedError {
  const [inside, outside] = [`${dataDir}/postgres`, `${home}/postgres`];
  const message = `There are two databases: ${inside}, and ${outside}, which postgres.json names. An interrupted mv leaves one of them incomplete. Run: diff -rq ${inside} ${outside}. Move the one that lacks files out of its directory (${outside} when they are equal) and start again.`;
  return new EmbeddedError("failed", message);
}

function foreign(dataDir: string, home: string): EmbeddedError {
  const move = holdsCluster(home)
    ? `If you moved this directory, move its database too: ${moveByHand(dataDir, home)}. If you copied it, the copy holds no database: `
    : "This directory holds no database: ";
  const message = `${dataDir} was copied or moved from another data directory, whose database is in ${home}. ${move}run posthorn backup on the original, and posthorn restore into a new directory.`;
  return new EmbeddedError("copied", message);
}

function missing(dataDir: string, home: string): EmbeddedError {
  const message = `The database of ${dataDir} was in ${home}/postgres (so says postgres.json) and is not there. Put it back, or restore a backup into a new directory with posthorn restore. To start with an empty database, remove ${dataDir}/postgres.json.`;
  return new EmbeddedError("failed", message);
}

/** Beside the data where the path fits a socket address and PostgreSQL's list syntax, else under a short name. */
async function chooseSocketDir(cluster: string, runAs: RunAs | undefined): Promise<string> {
  const uid = runAs?.uid ?? process.getuid?.() ?? 0;
  const directory = socketDirOf(cluster, uid);
  if (directory === cluster) return cluster;
  const made = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (made !== undefined && runAs !== undefined) await chown(directory, runAs.uid, runAs.gid);
  const found = await lstat(directory);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    const message = `${directory} belongs to another account. Set POSTHORN_DATA_DIR to a shorter path, or remove that directory.`;
    throw new EmbeddedError("permission", message);
  }
  return directory;
}

export function socketDirOf(cluster: string, uid: number): string {
  if (Buffer.byteLength(socketPath(cluster)) <= longestSocket && /^[\w./+@=-]+$/.test(cluster)) return cluster;
  return join("/tmp", `posthorn-${uid}-${shortHash(cluster)}`);
}

export function socketPath(directory: string): string {
  return join(directory, `.s.PGSQL.${port}`);
}

/** A form that libpq's tools (psql, pg_dump) take as well: the socket's directory stands percent-encoded as the host. */
export function socketUrl(socketDir: string, password: string, name = database): string {
  return `postgres://${user}:${password}@${encodeURIComponent(socketDir)}:${port}/${name}`;
}

export async function readFacts(dataDir: string): Promise<Facts | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, "postgres.json"), "utf8")) as Facts;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** On disk, whole, when this returns: a lost password would have to be set anew in the cluster. */
export async function writeFacts(dataDir: string, facts: Facts): Promise<void> {
  await replaceFile(join(dataDir, "postgres.json"), `${JSON.stringify(facts, null, 2)}\n`, 0o600);
}

/** Writes under a new name and renames, so that root never writes through a link that another account has put there. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString("hex")}`;
  try {
    const file = await open(draft, "wx", mode);
    try {
      await file.writeFile(text);
      // Whatever the umask says: PostgreSQL's account reads its settings.
      await file.chmod(mode);
      if (process.getuid?.() === 0) {
        const owner = await stat(dirname(path));
        await file.chown(owner.uid, owner.gid);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
    await syncPath(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** A rename lasts through a power cut only once its directory is on disk. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The pid and the state that a PostgreSQL wrote into its cluster, if one did. */
export function readPidFile(cluster: string): { pid: number; ready: boolean } | undefined {
  return readLockFile(join(cluster, "postmaster.pid"));
}

/** PostgreSQL's pid file, or the lock file next to its socket, which begins in the same way. */
export function readLockFile(path: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    return { pid: Number(lines[0]), ready: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

export function shortHash(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}
