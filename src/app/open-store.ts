/** Opens the store for the program or for a command: the embedded server or DATABASE_URL, migrated, with the right secret. */
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../ops/log.ts";
import { examineServer, isDatabaseAway, openDb, type ServerFacts, type Sql } from "../store/db.ts";
import { openEmbedded, startEmbedded } from "../store/embedded.ts";
import { migrate } from "../store/migrate.ts";
import { checkSecret, createSecrets, type Secrets } from "../store/secrets.ts";
import type { Config } from "./config.ts";
import { makePrivateFolder, readSecret } from "./files.ts";

export type Store = { sql: Sql; url: string; secrets: Secrets; embedded: boolean; close(): Promise<void> };

export type StoreOptions = { config: Config; log: Log; for: "program" | "command"; stop?: AbortSignal };

/** An external server may start after us: it is waited for this long before giving up. */
const waitForServerMs = 30_000;

export async function openStore(options: StoreOptions): Promise<Store> {
  const { config, log } = options;
  await makePrivateFolder(config.dataDir);
  const secrets = createSecrets(await readSecret(config));
  const server = await startServer(options);
  let sql: Sql | undefined;
  const close = async () => {
    await sql?.end();
    await server.stop();
  };
  try {
    judge(await waitForServer(server.url, options));
    sql = openDb({ url: server.url, pool: options.for === "program" ? config.databasePool : 2, log });
    await migrate(sql, log);
    await checkSecret(sql, secrets);
    return { sql, url: server.url, secrets, embedded: config.databaseUrl === undefined, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
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

async function waitForServer(url: string, { log, stop }: StoreOptions): Promise<ServerFacts> {
  const until = Date.now() + waitForServerMs;
  for (let said = false; ; ) {
    try {
      return await examineServer(url);
    } catch (error) {
      if (!isDatabaseAway(error) || Date.now() > until)
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
