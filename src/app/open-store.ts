/** Opens the store for the program or for a command: the embedded server or DATABASE_URL, migrated, with the right secret. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { reopenBackfills } from "../store/backfill.ts";
import { examineServer, isDatabaseAway, openDb, type ServerFacts, type Sql } from "../store/db.ts";
import { openEmbedded, startEmbedded } from "../store/embedded.ts";
import { concerns, explain } from "../store/embedded-error.ts";
import { makeDataDir } from "../store/embedded-home.ts";
import { migrate, type Progress } from "../store/migrate.ts";
import { schemaState } from "../store/schema-state.ts";
import { checkSecret, createSecrets, type Secrets } from "../store/secrets.ts";
import type { Config } from "./config.ts";
import { readSecret } from "./files.ts";

export type Store = {
  sql: Sql;
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
  /** Where each step of a migration is reported; the log otherwise. */
  onMigration?: (progress: Progress) => void;
  /** Called when PostgreSQL has answered, before the migration. */
  onOpen?: (sql: Sql) => void;
  /** For a backup: what is there is copied before a newer program changes it. An empty database is migrated nevertheless. */
  keepSchema?: boolean;
  /** Ends the wait for a server that does not answer, and a migration. */
  stop?: AbortSignal;
};

/** An external server may start after us: it is waited for this long before giving up. */
const waitForServerMs = 30_000;

export async function openStore(options: StoreOptions): Promise<Store> {
  return await open(options).catch(async (error) => {
    throw await explainStart(error, options.config);
  });
}

/** A start that fails for the data directory's sake says so in one sentence: no space, no permission, no directory. */
export async function explainStart(error: unknown, { dataDir, databaseUrl }: Config): Promise<unknown> {
  const { path, syscall } = error as NodeJS.ErrnoException;
  const about = path === undefined || concerns(path, dataDir);
  const ours = databaseUrl === undefined || syscall !== undefined;
  return about && ours ? await explain(error, dataDir) : error;
}

async function open(options: StoreOptions): Promise<Store> {
  const { config, log } = options;
  await makeDataDir(config.dataDir);
  const server = await startServer(options);
  let sql: Sql | undefined;
  let reopen = async () => {};
  const close = async () => {
    await reopen().catch(() => {});
    await sql?.end();
    await server.stop();
  };
  try {
    // After the embedded server has the lock: a restore that ran until then has brought its own secret.
    const secrets = createSecrets(await readSecret(config));
    judge(await waitForServer(server.url, options));
    sql = openDb({ url: server.url, pool: options.for === "program" ? config.databasePool : 2, log });
    options.onOpen?.(sql);
    const embedded = config.databaseUrl === undefined;
    const { version, known } = await bringSchema(sql, options);
    if (version > known) {
      await reopenBackfills(sql, known);
      // A command is in no list of workers: a backfill may have passed the rows that it wrote meanwhile.
      const own = sql;
      if (options.for === "command") reopen = () => reopenBackfills(own, known);
    }
    await checkSecret(sql, secrets);
    return { sql, url: server.url, secrets, embedded, schemaVersion: known, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

async function bringSchema(sql: Sql, options: StoreOptions): Promise<{ version: number; known: number }> {
  const { config, log, onMigration: tell, stop } = options;
  const { version } = await schemaState(sql);
  if (options.keepSchema && version > 0) return { version, known: version };
  const embedded = config.databaseUrl === undefined;
  const place = embedded ? ({ kind: "embedded", dataDir: config.dataDir } as const) : ({ kind: "external" } as const);
  return await migrate(sql, log, { place, tell, stop });
}

async function startServer({
  config,
  log,
  for: purpose,
}: StoreOptions): Promise<{ url: string; stop(): Promise<void> }> {
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, stop: async () => {} };
  const options = { dataDir: config.dataDir, log };
  return purpose === "program" ? await startEmbedded(options) : await openEmbedded(options);
}

async function waitForServer(url: string, { config, log, stop }: StoreOptions): Promise<ServerFacts> {
  const until = Date.now() + waitForServerMs;
  for (let said = false; ; ) {
    try {
      return await examineServer(url);
    } catch (error) {
      // A command may join our own server in its first second, before the program has created its database (3D000).
      const soon =
        isDatabaseAway(error) || (config.databaseUrl === undefined && (error as { code?: string }).code === "3D000");
      if (!soon || Date.now() > until)
        throw new Error(`PostgreSQL does not answer: ${(error as Error).message}`, { cause: error });
      if (!said) log.warn({ reason: (error as Error).message }, "waiting for PostgreSQL");
      said = true;
      stop?.throwIfAborted();
      await delay(500, undefined, { signal: stop }).catch(() => stop?.throwIfAborted());
    }
  }
}

/** A database of somebody else's that Posthorn cannot work with; its words are for the operator. */
export class DatabaseRefused extends Error {
  override readonly name = "DatabaseRefused";
}

function judge({ version, sharedSessions }: ServerFacts): void {
  if (version.number < 150_000)
    throw new DatabaseRefused(`Posthorn needs PostgreSQL 15 or newer; DATABASE_URL leads to ${version.text}.`);
  if (sharedSessions) throw new DatabaseRefused(pooledWords);
}

const pooledWords = `DATABASE_URL leads to a pooler that lends a session for one transaction at a time (PgBouncer: pool_mode = transaction or statement).
Posthorn prepares statements, sets time-outs and listens for wake-ups, all of which live in a session of its own.
Put the address of PostgreSQL itself into DATABASE_URL, or give this database pool_mode = session.
Posthorn is its own pool: a process holds POSTHORN_DATABASE_POOL connections (10) and one more, never above.`;
