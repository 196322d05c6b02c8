/** Makes the cluster on the first start and keeps its settings ours on every later one. Called by embedded.ts under its lock. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, constants, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { join } from "node:path";
import { giveTo, initdbAccount, type RunAs } from "./embedded-account.ts";
import type { Binaries } from "./embedded-binaries.ts";
import { EmbeddedError, explainOutput } from "./embedded-error.ts";
import {
  type Facts,
  type Home,
  port,
  readFacts,
  replaceFile,
  socketUrl,
  syncPath,
  user,
  writeFacts,
} from "./embedded-home.ts";
import { innerPath, spawnFor } from "./embedded-spawn.ts";

export type Prepared = {
  facts: Facts;
  /** This was the first start. */
  created: boolean;
  /** The facts were lost and their password is a new one, which the cluster does not know yet. */
  passwordIsNew: boolean;
};

/** Leaves a cluster that can be started, and facts that say how to open it. */
export async function prepareCluster(home: Home, binaries: Binaries): Promise<Prepared> {
  const known = await readFacts(home.dataDir);
  const password = known?.password ?? randomBytes(24).toString("base64url");
  const facts: Facts = { password, url: socketUrl(home.socketDir, password) };
  if (home.home !== home.dataDir) facts.home = home.home;
  // Beside the cluster and not in it: as root we write nothing where PostgreSQL's account could have put a link.
  await replaceFile(join(home.home, "postgres.conf"), settings(innerPath(home, home.socketDir)), 0o644);
  const created = !existsSync(join(home.cluster, "PG_VERSION"));
  if (created) await createCluster(home, binaries, facts);
  else await checkCluster(home, binaries);
  const passwordIsNew = known === undefined && !created;
  // Until the cluster has learned a new password, the facts stay lost, so that a kill in between only means another try.
  const changed = known?.url !== facts.url || known?.home !== facts.home;
  if (changed && !passwordIsNew) await writeFacts(home.dataDir, facts);
  return { facts, created, passwordIsNew };
}

/** Tried again for five seconds: an initdb that outlived its program makes files in a draft while it is being removed. */
const wholeDraft = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

/** Under the lock: what a killed first start or a killed restore left behind. */
export async function removeDrafts(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (/^postgres\.(new|restoring)-/.test(name)) await rm(join(home, name), wholeDraft);
  }
}

/** Built under another name and renamed when complete and on disk, so that an initdb killed half-way is simply done again. */
async function createCluster(ground: Home, binaries: Binaries, facts: Facts): Promise<void> {
  const { dataDir, home, cluster, runAs } = ground;
  // A name of its own each time: the initdb of a killed program may still be writing under the last one.
  const draft = join(home, `postgres.new-${randomBytes(4).toString("hex")}`);
  const passwordFile = `${draft}.password`;
  const maker = runAs === undefined ? undefined : initdbAccount(runAs);
  try {
    await removeDrafts(home);
    await mkdir(draft, { mode: 0o700 });
    if (maker !== undefined) await chown(draft, maker.uid, maker.gid);
    await writeFile(passwordFile, facts.password, { mode: 0o600, flag: "wx" });
    if (maker !== undefined) await chown(passwordFile, maker.uid, maker.gid);
    // Written and synced by initdb itself: 0.04 s more than --no-sync, against a cluster that a power cut would spoil.
    const locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
    const access = [
      "-U",
      user,
      "--auth-local=scram-sha-256",
      "--auth-host=reject",
      `--pwfile=${innerPath(ground, passwordFile)}`,
    ];
    const args = ["-D", innerPath(ground, draft), ...access, ...locale, "--no-instructions"];
    const { code, output } = await run(ground, { program: binaries.initdb, args, runAs: maker });
    if (code !== 0) throw explainOutput("Making the database (initdb)", output, home);
    if (runAs !== undefined && maker?.uid !== runAs.uid) await giveTo(draft, runAs);
    await appendSettings(join(draft, "postgresql.conf"));
    // The password first: a cluster without it would need a new one.
    await writeFacts(dataDir, facts);
    await rename(draft, cluster).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "ENOTDIR" && error.code !== "EEXIST") throw error;
      const message = `${cluster} is in the way: it is not empty and not a database. Move it away and start again.`;
      throw new EmbeddedError("failed", message, { cause: error });
    });
    await syncPath(home);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, wholeDraft);
  }
}

async function appendSettings(path: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
  await file.writeFile(`
# Posthorn's own settings, written anew at every start. What stands below this line wins over them.
include '../postgres.conf'
`);
  await file.sync();
  await file.close();
}

async function checkCluster({ cluster, runAs }: Home, { major, version }: Binaries): Promise<void> {
  const found = (await readFile(join(cluster, "PG_VERSION"), "utf8")).trim();
  if (found !== major) {
    const message = `The database in ${cluster} was made by PostgreSQL ${found}, and this Posthorn brings ${version}. Start the version that made it and move the data with pg_dump, or set DATABASE_URL to a PostgreSQL ${found} that serves it.`;
    throw new EmbeddedError("version", message);
  }
  const { uid } = await stat(cluster);
  const ours = runAs?.uid ?? process.getuid?.();
  if (uid !== ours) {
    const message = `The database in ${cluster} belongs to uid ${uid}, and PostgreSQL would run as uid ${ours}. Run Posthorn as the owner, or hand the directory over: chown -R ${ours} ${cluster}`;
    throw new EmbeddedError("permission", message);
  }
}

/** What a small server wants; measured with bench on two cores, every one of them open to the operator in postgresql.conf. */
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
# Samples a fifth of the rows: a full analysis of new mail held up whoever sent some in that second, and no plan here needs more.
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

function run(ground: Home, what: { program: string; args: string[]; runAs: RunAs | undefined }): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawnFor(ground, { ...what, output: "ignore", errors: "pipe" });
    let output = "";
    child.stderr?.on("data", (chunk) => {
      output += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
