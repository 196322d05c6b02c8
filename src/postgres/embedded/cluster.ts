/** Creates the cluster on the first start, and writes its settings at every start. embedded.ts calls it while it holds the lock. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, constants, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { chownTree, initdbAccount, innerPath, type RunAs, spawnIn } from "./account.ts";
import type { Binaries } from "./binaries.ts";
import { EmbeddedError, explainOutput } from "./error.ts";
import {
  type ClusterLocation,
  type Facts,
  port,
  readFacts,
  replaceFile,
  socketUrl,
  syncPath,
  user,
  writeFacts,
} from "./location.ts";

export type Prepared = {
  facts: Facts;
  /** This is the first start. */
  created: boolean;
  /** postgres.json was lost, so the password is new and the cluster does not have it yet. */
  passwordIsNew: boolean;
};

/** Creates or checks the cluster, so that it can be started, and writes postgres.json. */
export async function prepareCluster(location: ClusterLocation, binaries: Binaries): Promise<Prepared> {
  const known = await readFacts(location.dataDir);
  const password = known?.password ?? randomBytes(24).toString("base64url");
  const facts: Facts = { password, url: socketUrl(location.socketDir, password) };
  if (location.baseDir !== location.dataDir) facts.home = location.baseDir;
  // Next to the cluster and not in it: root must not write where PostgreSQL's account could have created a link.
  await replaceFile(join(location.baseDir, "postgres.conf"), settings(innerPath(location, location.socketDir)), 0o644);
  const created = !existsSync(join(location.cluster, "PG_VERSION"));
  if (created) await createCluster(location, binaries, facts);
  else await checkCluster(location, binaries);
  const passwordIsNew = known === undefined && !created;
  // resetServerPassword writes postgres.json once the cluster has the new password, so that after a kill the next start tries again.
  const changed = known?.url !== facts.url || known?.home !== facts.home;
  if (changed && !passwordIsNew) await writeFacts(location.dataDir, facts);
  return { facts, created, passwordIsNew };
}

/** Retries for five seconds: the initdb of a killed program may still create files in a draft while it is removed. */
const removeTree = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

/** Removes what a killed first start or a killed restore left over. The caller holds the lock. */
export async function removeDrafts(baseDir: string): Promise<void> {
  for (const name of await readdir(baseDir)) {
    if (/^postgres\.(new|restoring)-/.test(name)) await rm(join(baseDir, name), removeTree);
  }
}

/** Creates the cluster under another name and renames it when it is complete and on disk, so that a killed initdb is repeated. */
async function createCluster(location: ClusterLocation, binaries: Binaries, facts: Facts): Promise<void> {
  const { dataDir, baseDir, cluster, runAs } = location;
  // A new name each time: the initdb of a killed program may still write to the last one.
  const draft = join(baseDir, `postgres.new-${randomBytes(4).toString("hex")}`);
  const passwordFile = `${draft}.password`;
  const initdbAs = runAs === undefined ? undefined : initdbAccount(runAs);
  try {
    await removeDrafts(baseDir);
    await mkdir(draft, { mode: 0o700 });
    if (initdbAs !== undefined) await chown(draft, initdbAs.uid, initdbAs.gid);
    await writeFile(passwordFile, facts.password, { mode: 0o600, flag: "wx" });
    if (initdbAs !== undefined) await chown(passwordFile, initdbAs.uid, initdbAs.gid);
    // Without --no-sync: it would save 0.04 s, but a power loss could then damage the cluster.
    const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
    const access = [
      "-U",
      user,
      "--auth-local=scram-sha-256",
      "--auth-host=reject",
      `--pwfile=${innerPath(location, passwordFile)}`,
    ];
    const args = ["-D", innerPath(location, draft), ...access, ...locale, "--no-instructions"];
    const { code, output } = await run(location, { program: binaries.initdb, args, runAs: initdbAs });
    if (code !== 0) throw explainOutput("Creating the database (initdb)", output, baseDir);
    if (runAs !== undefined && initdbAs?.uid !== runAs.uid) await chownTree(draft, runAs);
    await appendSettings(join(draft, "postgresql.conf"));
    // The password is written first: a cluster without it would need a new one.
    await writeFacts(dataDir, facts);
    await rename(draft, cluster).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "ENOTDIR" && error.code !== "EEXIST") throw error;
      const message = `The database cannot be created in ${cluster}: it already exists, is not empty and is not a database. Move it away and start again.`;
      throw new EmbeddedError("failed", message, { cause: error });
    });
    await syncPath(baseDir);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, removeTree);
  }
}

async function appendSettings(path: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
  await file.writeFile(`
# Posthorn's own settings, rewritten at every start. Settings below this line override them.
include '../postgres.conf'
`);
  await file.sync();
  await file.close();
}

async function checkCluster({ cluster, runAs }: ClusterLocation, { major, version }: Binaries): Promise<void> {
  const found = (await readFile(join(cluster, "PG_VERSION"), "utf8")).trim();
  if (found !== major) {
    const message = `The database in ${cluster} was created by PostgreSQL ${found}, and this Posthorn ships ${version}. Start the version that created it and move the data with pg_dump, or set DATABASE_URL to a PostgreSQL ${found} that serves it.`;
    throw new EmbeddedError("version", message);
  }
  const { uid } = await stat(cluster);
  const ours = runAs?.uid ?? process.getuid?.();
  if (uid !== ours) {
    const message = `The database in ${cluster} belongs to uid ${uid}, and PostgreSQL would run as uid ${ours}. Run Posthorn as the owner, or change the owner: chown -R ${ours} ${cluster}`;
    throw new EmbeddedError("permission", message);
  }
}

/** Settings for a small server, measured with bench on two cores. The operator can override each of them in postgresql.conf. */
function settings(socketDir: string): string {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const buffers = Math.round(Math.min(Math.max(memory / 8, 64 * 2 ** 20), 512 * 2 ** 20) / 2 ** 20);
  return `# Written by Posthorn at every start: put your own settings at the end of postgres/postgresql.conf.
listen_addresses = ''
port = ${port}
unix_socket_directories = '${socketDir}'
unix_socket_permissions = 0700
max_connections = 100
shared_buffers = ${buffers}MB
huge_pages = off
fsync = on
full_page_writes = on
synchronous_commit = on
max_wal_size = 1GB
checkpoint_timeout = 10min
random_page_cost = 1.1
max_parallel_workers_per_gather = 0
jit = off
autovacuum_naptime = 15s
# Samples a fifth of the default: a larger analysis of new mail delayed concurrent sends, and no plan here needs more.
default_statistics_target = 20
client_connection_check_interval = 10s
timezone = 'UTC'
log_timezone = 'UTC'
log_destination = 'stderr'
logging_collector = off
log_checkpoints = off
# Statements and details hold addresses and message content, which never go to a log.
log_min_error_statement = panic
log_error_verbosity = terse
`;
}

type Ended = { code: number | null; output: string };

function run(
  location: ClusterLocation,
  command: { program: string; args: string[]; runAs: RunAs | undefined },
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawnIn(location, { ...command, output: "ignore", errors: "pipe" });
    let output = "";
    child.stderr?.on("data", (chunk) => {
      output += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
