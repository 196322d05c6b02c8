/** Where the cluster, its socket and the facts about it live. Made by embedded.ts, read by every command on the same data directory. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { chmod, chown, lstat, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { canEnter, chooseAccount, type RunAs } from "./embedded-account.ts";
import { EmbeddedError } from "./embedded-error.ts";

export type Home = {
  dataDir: string;
  /** Holds the cluster and the lock: the data directory, or, where PostgreSQL's account cannot enter that, one under /var/lib/posthorn. */
  home: string;
  cluster: string;
  socketDir: string;
  runAs: RunAs | undefined;
};

/** `postgres.json` in the data directory, readable by its owner alone. */
export type Facts = {
  password: string;
  url: string;
  /** Only where it is not the data directory itself, which may be moved or copied. */
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
  const facts = await readFacts(dataDir);
  let home = facts?.home ?? dataDir;
  const runAs = await chooseAccount(join(home, "postgres"), dataDir);
  if (runAs !== undefined) await letPass(dataDir, runAs);
  if (runAs !== undefined && home === dataDir && !(await canEnter(dataDir, runAs))) {
    // Only a new database may move: an empty one in another place would look like lost mail.
    if (existsSync(join(dataDir, "postgres"))) throw shutOut(dataDir, runAs);
    home = join(rootPlace, shortHash(dataDir));
    await makeOpen(rootPlace);
    await mkdir(home, { recursive: true, mode: 0o700 });
    await letPass(home, runAs);
  }
  const cluster = join(home, "postgres");
  return { dataDir, home, cluster, runAs, socketDir: await chooseSocketDir(cluster, runAs) };
}

async function makeDataDir(wanted: string): Promise<string> {
  await mkdir(dirname(wanted), { recursive: true });
  await mkdir(wanted, { recursive: true, mode: 0o700 });
  return realpath(wanted);
}

/** Opens a directory of root's that was closed to all, for the server's account to pass through, and for nobody else. */
async function letPass(directory: string, account: RunAs): Promise<void> {
  const { uid: owner, mode } = await stat(directory);
  if (owner !== 0 || (mode & 0o077) !== 0 || !(await canEnter(dirname(directory), account))) return;
  await chown(directory, owner, account.gid);
  await chmod(directory, 0o710);
}

/** A directory of root's that everyone may enter, whatever the umask says. */
export async function makeOpen(directory: string): Promise<void> {
  if ((await mkdir(directory, { recursive: true })) !== undefined) await chmod(directory, 0o755);
}

function shutOut(dataDir: string, { uid }: RunAs): EmbeddedError {
  const message = `PostgreSQL runs under uid ${uid} because it refuses root, and that account can no longer enter ${dataDir}. Give the directories on that path the mode o+x (chmod o+x), or run Posthorn as the owner of ${join(dataDir, "postgres")}.`;
  return new EmbeddedError("permission", message);
}

/** Beside the data where the path fits a socket address and PostgreSQL's list syntax, else under a short name. */
async function chooseSocketDir(cluster: string, runAs: RunAs | undefined): Promise<string> {
  if (Buffer.byteLength(socketPath(cluster)) <= longestSocket && /^[\w./+@=-]+$/.test(cluster)) return cluster;
  const uid = runAs?.uid ?? process.getuid?.() ?? 0;
  const directory = join("/tmp", `posthorn-${uid}-${shortHash(cluster)}`);
  const made = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (made !== undefined && runAs !== undefined) await chown(directory, runAs.uid, runAs.gid);
  const found = await lstat(directory);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    const message = `${directory} belongs to somebody else. Set POSTHORN_DATA_DIR to a shorter path, or remove that directory.`;
    throw new EmbeddedError("permission", message);
  }
  return directory;
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
    await file.writeFile(text);
    // Whatever the umask says: PostgreSQL's account reads its settings.
    await file.chmod(mode);
    if (process.getuid?.() === 0) {
      const owner = await stat(dirname(path));
      await file.chown(owner.uid, owner.gid);
    }
    await file.sync();
    await file.close();
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
  await handle.sync();
  await handle.close();
}

/** The pid and the state that a PostgreSQL wrote into its cluster, if one did. */
export function readPidFile(cluster: string): { pid: number; ready: boolean } | undefined {
  try {
    const lines = readFileSync(join(cluster, "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), ready: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

function shortHash(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}
