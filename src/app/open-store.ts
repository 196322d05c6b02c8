/** Opens the store, embedded or at DATABASE_URL: waits for the server, migrates the schema and checks the secret.
 * Called by assemble.ts for the program, and by commands/with-store.ts. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ContentStore } from "../objects/content-store.ts";
import { type Clock, createClock } from "../ops/clock.ts";
import type { Log } from "../ops/log.ts";
import { reopenBackfills } from "../postgres/backfill.ts";
import { openEmbedded, startEmbedded } from "../postgres/embedded/embedded.ts";
import { explain, pathsOverlap } from "../postgres/embedded/error.ts";
import { makeDataDir } from "../postgres/embedded/location.ts";
import { cutLogs, recordOrigin } from "../postgres/log-origin.ts";
import { type MigrationProgress, migrate } from "../postgres/migrate.ts";
import { type Outage, outageOf } from "../postgres/outage.ts";
import { examineServer, openDb, type ServerFacts, type Sql } from "../postgres/pool.ts";
import { schemaState } from "../postgres/schema-state.ts";
import { createSecrets, type Secrets } from "../postgres/sealing.ts";
import { checkSecret } from "../postgres/secret-state.ts";
import { readClocks } from "../postgres/service-clock.ts";
import { beginContents, openContents } from "./assemble/contents.ts";
import type { Config } from "./config.ts";
import { readSecrets } from "./files.ts";
import { requireResealed } from "./sealed-columns.ts";

export type Store = {
  sql: Sql;
  /** Undefined: all content is in the database. */
  contents: ContentStore | undefined;
  url: string;
  secrets: Secrets;
  embedded: boolean;
  /** The schema version that this program was written for. The database may be ahead of it. */
  schemaVersion: number;
  close(): Promise<void>;
};

export type StoreOptions = {
  config: Config;
  log: Log;
  for: "program" | "command";
  /** Receives each step of a migration; without it, steps are logged. */
  onMigration?: (progress: MigrationProgress) => void;
  /** Called once PostgreSQL answers, before the migration. */
  onOpen?: (sql: Sql) => void;
  /** For a backup: skip the migration, so that the data is copied as it is. An empty database is migrated anyway. */
  keepSchema?: boolean;
  /** How long to wait for a server that does not answer yet. Default: half a minute. */
  waitForServerMs?: number;
  /** Settings of the embedded server, as `name=value`. */
  serverSettings?: string[];
  /** Interrupts a migration, and the wait for a server that does not answer. */
  stop?: AbortSignal;
  /** The program's clock. A command has its own. */
  clock?: Clock;
};

/** How long to wait for an external server that starts later than this program. */
const defaultWaitMs = 30_000;

export async function openStore(options: StoreOptions): Promise<Store> {
  return await open(options).catch(async (error) => {
    throw await explainStart(error, options.config);
  });
}

/** Replaces an error about the data directory by one sentence for the operator: no space, no permission, no directory. */
export async function explainStart(error: unknown, { dataDir, databaseUrl }: Config): Promise<unknown> {
  const { path, syscall } = error as NodeJS.ErrnoException;
  const about = path === undefined || pathsOverlap(path, dataDir);
  const ours = databaseUrl === undefined || syscall !== undefined;
  return about && ours ? await explain(error, dataDir) : error;
}

async function open(options: StoreOptions): Promise<Store> {
  const { config, log } = options;
  await makeDataDir(config.dataDir);
  const server = await startServer(options);
  let sql: Sql | undefined;
  let reopen = async () => {};
  let contents: ContentStore | undefined;
  const close = async () => {
    await contents?.stop();
    await reopen().catch(() => {});
    await sql?.end();
    await server.stop();
  };
  try {
    // Read after the embedded server has taken the lock: a restore that held it may have replaced the secret.
    const { secret, previous } = await readSecrets(config);
    const secrets = createSecrets(secret, previous);
    requireSupported(await waitForServer(server.url, options));
    sql = openDb({ url: server.url, pool: options.for === "program" ? config.databasePool : 2, log });
    options.onOpen?.(sql);
    const embedded = config.databaseUrl === undefined;
    const { version, known } = await migrateSchema(sql, options);
    if (version > known) {
      await reopenBackfills(sql, known);
      // A command is not registered as a worker, so a backfill may already have passed the rows that the command writes.
      const own = sql;
      if (options.for === "command") reopen = () => reopenBackfills(own, known);
    }
    if (!options.keepSchema) await prepareLogs(sql, options);
    const { replacement } = await checkSecret(sql, secrets);
    if (replacement && options.for === "program") {
      const { wallMs: nowMs } = await readClocks(sql);
      await requireResealed(sql, { secrets, replacement, log, nowMs });
    }
    if (!options.keepSchema) contents = await contentsOf(sql, secrets, options);
    return { sql, url: server.url, contents, secrets, embedded, schemaVersion: known, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

async function contentsOf(sql: Sql, secrets: Secrets, options: StoreOptions): Promise<ContentStore | undefined> {
  const { config, log, clock = createClock() } = options;
  if (!options.clock && config.content) clock.set(await readClocks(sql));
  const deps = { config, sql, secrets, log, nowMs: clock.nowMs };
  const contents = openContents(deps);
  try {
    if (options.for === "program") await beginContents(contents, deps);
    return contents;
  } catch (error) {
    await contents?.stop();
    throw error;
  }
}

async function prepareLogs(sql: Sql, options: StoreOptions): Promise<void> {
  if (!(await recordOrigin(sql)) && options.for === "program")
    options.log.warn(
      {},
      "the database server does not report its system identifier and timeline: run `posthorn log cut` after each failover or restore that may have lost data",
    );
  await cutIfRestored(sql, options);
}

/** posthorn restore leaves a mark, so that the event logs are cut also if the command ends before this. */
async function cutIfRestored(sql: Sql, { config, log }: StoreOptions): Promise<void> {
  const mark = restoredMark(config.dataDir);
  if (!existsSync(mark)) return;
  const workspaces = await cutLogs(sql);
  await rm(mark);
  log.warn(
    { workspaces },
    "this data was restored from a backup: streams report the cut to readers that were further ahead",
  );
}

/** The file that marks a data directory as restored from a backup. */
export function restoredMark(dataDir: string): string {
  return join(dataDir, "restored");
}

async function migrateSchema(sql: Sql, options: StoreOptions): Promise<{ version: number; known: number }> {
  const { config, log, onMigration, stop } = options;
  const { version } = await schemaState(sql);
  if (options.keepSchema && version > 0) return { version, known: version };
  const embedded = config.databaseUrl === undefined;
  const location = embedded
    ? ({ kind: "embedded", dataDir: config.dataDir } as const)
    : ({ kind: "external" } as const);
  return await migrate(sql, log, { location, onProgress: onMigration, stop });
}

async function startServer({
  config,
  log,
  for: purpose,
  serverSettings: settings,
}: StoreOptions): Promise<{ url: string; stop(): Promise<void> }> {
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, stop: async () => {} };
  const options = { dataDir: config.dataDir, log, settings };
  return purpose === "program" ? await startEmbedded(options) : await openEmbedded(options);
}

async function waitForServer(url: string, options: StoreOptions): Promise<ServerFacts> {
  const { config, log, stop, waitForServerMs = defaultWaitMs } = options;
  const until = performance.now() + waitForServerMs;
  for (let logged = false; ; ) {
    try {
      return await examineServer(url);
    } catch (error) {
      // A command may connect to the embedded server before the program has created its database (3D000).
      const outage = outageOf(error);
      // A wrong password does not become right by waiting.
      const retryable =
        (outage !== undefined && outage.reason !== "DATABASE_LOGIN") ||
        (config.databaseUrl === undefined && (error as { code?: string }).code === "3D000");
      if (!retryable || performance.now() > until)
        throw new Error(startProblem(outage, error as Error), { cause: error });
      if (!logged) log.warn({ reason: (error as Error).message }, "waiting for PostgreSQL");
      logged = true;
      stop?.throwIfAborted();
      await delay(500, undefined, { signal: stop }).catch(() => stop?.throwIfAborted());
    }
  }
}

/** Says "does not answer" only of a server that does not. */
function startProblem(outage: Outage | undefined, { message }: Error): string {
  if (!outage) return `PostgreSQL refuses the connection: ${message}`;
  if (outage.reason === "DATABASE_UNREACHABLE") return `PostgreSQL does not answer: ${message}`;
  return `${outage.problem}: ${message}. ${outage.fix}`;
}

/** An external database that Posthorn cannot use. The message is for the operator. */
export class DatabaseRefused extends Error {
  override readonly name = "DatabaseRefused";
}

function requireSupported({ version, sharedSessions }: ServerFacts): void {
  if (version.number < 150_000)
    throw new DatabaseRefused(`Posthorn needs PostgreSQL 15 or newer; DATABASE_URL points to ${version.text}.`);
  if (sharedSessions) throw new DatabaseRefused(poolerMessage);
}

const poolerMessage = `DATABASE_URL points to a pooler that shares sessions between clients (PgBouncer: pool_mode = transaction or statement).
Posthorn needs sessions of its own for prepared statements, timeouts and wake-ups (LISTEN).
Set DATABASE_URL to the address of PostgreSQL itself, or set pool_mode = session for this database.
Posthorn has its own pool: a process never opens more than POSTHORN_DATABASE_POOL connections (default 10) plus one.`;
