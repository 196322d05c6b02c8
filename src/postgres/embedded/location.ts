/**
 * Where the cluster, its socket and postgres.json are, and the file operations on them. embedded.ts creates them; every command on
 * the same data directory reads them.
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, chown, lstat, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { canEnter, canInherit, chooseAccount, maySearch, type RunAs } from "./account.ts";
import { EmbeddedError } from "./error.ts";

export type ClusterLocation = {
  dataDir: string;
  /**
   * The directory of the cluster and the lock. It is the data directory, except where an older release put both under
   * /var/lib/posthorn because PostgreSQL's account could not enter the data directory.
   */
  baseDir: string;
  cluster: string;
  socketDir: string;
  runAs: RunAs | undefined;
  /** The account cannot enter the directories above `baseDir`, so PostgreSQL gets an open descriptor instead of a path. */
  closed: boolean;
};

/** The content of `postgres.json` in the data directory, which only its owner can read. */
export type Facts = {
  password: string;
  url: string;
  /** The base directory of a cluster that an older release put outside the data directory. */
  home?: string;
};

/** For root: fallback directory for the binaries. Older releases also put clusters here. */
export const systemDir = "/var/lib/posthorn";
export const port = 5432;
export const user = "posthorn";
export const database = "posthorn";

/** sockaddr_un has 107 bytes for the path on Linux and 103 on macOS. */
const longestSocket = 103;

export async function locateCluster(path: string): Promise<ClusterLocation> {
  const dataDir = await makeDataDir(path);
  const baseDir = baseDirOf(dataDir, await readFacts(dataDir));
  const runAs = await chooseAccount(join(baseDir, "postgres"), dataDir);
  if (runAs !== undefined) await letGroupEnter(baseDir, runAs);
  const closed = runAs !== undefined && !(await canEnter(baseDir, runAs));
  if (closed && !canInherit()) throw cannotEnter(dataDir, runAs);
  const cluster = join(baseDir, "postgres");
  return { dataDir, baseDir, cluster, runAs, closed, socketDir: await chooseSocketDir(cluster, runAs) };
}

/** The base directory that an older release chose: its name is a hash of the real path of the data directory. */
export function olderBaseDir(dataDir: string): string {
  return join(systemDir, shortHash(dataDir));
}

/**
 * The base directory of this data directory's cluster. A start that was killed after it moved the cluster leaves facts that name
 * the old directory, which is then empty. Facts that name the directory of another instance were copied or moved with their directory.
 */
export function baseDirOf(dataDir: string, facts: Facts | undefined): string {
  if (facts?.home === undefined) return dataDir;
  if (hasCluster(dataDir)) {
    if (hasCluster(facts.home)) throw twoClusters(dataDir, facts.home);
    return dataDir;
  }
  if (facts.home !== olderBaseDir(dataDir)) throw copiedDataDir(dataDir, facts.home);
  if (!hasCluster(facts.home)) throw missingCluster(dataDir, facts.home);
  return facts.home;
}

export function hasCluster(baseDir: string): boolean {
  return existsSync(join(baseDir, "postgres", "PG_VERSION"));
}

/** Creates the data directory with mode 0700, so that no other account can read it. Returns its real path. */
export async function makeDataDir(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  // Not recursive: with `recursive`, Node reports a read-only file system as a missing directory.
  await mkdir(path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    const found = await stat(path).catch(() => undefined);
    if (error.code !== "EEXIST" || !found?.isDirectory()) throw error;
  });
  return realpath(path);
}

/** Lets the server's group, and no other account, enter a directory that belongs to root. */
export async function letGroupEnter(directory: string, account: RunAs): Promise<void> {
  const found = await stat(directory);
  if (maySearch(found, account)) return;
  if (found.uid !== 0 || (found.mode & 0o077) !== 0) throw notSearchable(directory, account);
  await chown(directory, found.uid, account.gid);
  await chmod(directory, 0o710);
}

/** Creates a directory that every account may enter, regardless of the umask. */
export async function makePublicDir(directory: string): Promise<void> {
  if ((await mkdir(directory, { recursive: true })) !== undefined) await chmod(directory, 0o755);
}

function cannotEnter(dataDir: string, { uid }: RunAs): EmbeddedError {
  const message = `PostgreSQL runs under uid ${uid} because it refuses root, and that account cannot enter ${dataDir}. Set POSTHORN_DATA_DIR to a directory that every account can enter (chmod o+x on each directory above it), or run Posthorn as an ordinary user.`;
  return new EmbeddedError("permission", message);
}

function notSearchable(directory: string, { uid }: RunAs): EmbeddedError {
  const message = `PostgreSQL runs under uid ${uid} because it refuses root, and the mode of ${directory} does not let that account in. Run: chmod o+x ${directory}`;
  return new EmbeddedError("permission", message);
}

/**
 * The commands with which an operator moves a cluster, also to another file system. `mv` alone copies file by file there, and when
 * interrupted leaves an incomplete cluster under the final name.
 */
export function moveCommands(dataDir: string, baseDir: string): string {
  const target = `${dataDir}/postgres`;
  const existing = [target, `${target}.moving`].filter((path) => existsSync(path));
  const first = existing.length === 0 ? "" : `move ${existing.join(" and ")} away and run: `;
  return `${first}cp -a ${baseDir}/postgres ${target}.moving && mv ${target}.moving ${target} && mv ${baseDir}/postgres ${baseDir}/postgres.old`;
}

function twoClusters(dataDir: string, baseDir: string): EmbeddedError {
  const [inside, outside] = [`${dataDir}/postgres`, `${baseDir}/postgres`];
  const message = `There are two databases: ${inside}, and ${outside}, which postgres.json names. An interrupted mv leaves one of them incomplete. Run: diff -rq ${inside} ${outside}. Move the one that lacks files out of its directory (${outside} when they are equal) and start again.`;
  return new EmbeddedError("failed", message);
}

function copiedDataDir(dataDir: string, baseDir: string): EmbeddedError {
  const move = hasCluster(baseDir)
    ? `If you moved this directory, move its database too: ${moveCommands(dataDir, baseDir)}. If you copied it, the copy has no database: `
    : "This directory has no database: ";
  const message = `${dataDir} was copied or moved from another data directory, whose database is in ${baseDir}. ${move}run posthorn backup on the original, and posthorn restore into a new directory.`;
  return new EmbeddedError("copied", message);
}

function missingCluster(dataDir: string, baseDir: string): EmbeddedError {
  const message = `According to postgres.json, the database of ${dataDir} is in ${baseDir}/postgres, but it is not there. Put it back, or restore a backup into a new directory with posthorn restore. To start with an empty database, remove ${dataDir}/postgres.json.`;
  return new EmbeddedError("failed", message);
}

/** Creates the socket's directory where it is not the cluster, and checks that no other account can enter it. */
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

/** The cluster itself when its path fits a socket address and PostgreSQL's list syntax, else a short path in /tmp. */
export function socketDirOf(cluster: string, uid: number): string {
  if (Buffer.byteLength(socketPath(cluster)) <= longestSocket && /^[\w./+@=-]+$/.test(cluster)) return cluster;
  return join("/tmp", `posthorn-${uid}-${shortHash(cluster)}`);
}

export function socketPath(directory: string): string {
  return join(directory, `.s.PGSQL.${port}`);
}

/** A URL that psql and pg_dump also accept: the host is the percent-encoded directory of the socket. */
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

/** Resolves when the complete file is on disk, because after a lost password the cluster needs a new one. */
export async function writeFacts(dataDir: string, facts: Facts): Promise<void> {
  await replaceFile(join(dataDir, "postgres.json"), `${JSON.stringify(facts, null, 2)}\n`, 0o600);
}

/** Writes under a new name and renames, so that root never writes through a link that another account has created. */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString("hex")}`;
  try {
    const file = await open(draft, "wx", mode);
    try {
      await file.writeFile(text);
      // Regardless of the umask, because PostgreSQL's account must read its settings.
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

/** Flushes a file or directory to disk. A rename survives a power loss only after its directory is flushed. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The pid and the state from postmaster.pid, if there is one. */
export function readPidFile(cluster: string): { pid: number; ready: boolean } | undefined {
  return readLockFile(join(cluster, "postmaster.pid"));
}

/** Reads postmaster.pid, or the lock file next to the socket, which begins in the same way. */
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
