/**
 * Access to PostgreSQL. `openDb` opens the pool with the session settings that every statement relies on; app/open-store.ts calls it.
 * Next to it: sql.ts (the template tag), hosts.ts (which host is the primary), receipts.ts (lost commits), log-origin.ts (lost ends of the event log), outage.ts and health.ts
 * (what is wrong with the database), migrate.ts, group-commit.ts, lease-loop.ts, wake.ts, partitions.ts, weeks.ts, embedded/ (our own server).
 * Read sql.ts next. To change the schema read migrate.ts; for the database of the default install embedded/embedded.ts.
 */
import pg from "pg";
import { type Log, silentLog } from "../ops/log.ts";
import { readDatabaseUrl } from "./database-url.ts";
import { createHealth } from "./health.ts";
import { createHosts } from "./hosts.ts";
import { checkOrigin } from "./log-origin.ts";
import { withCode } from "./lost-connection.ts";
import { createSql, type Sql } from "./sql.ts";
import { nameKeptMs } from "./statement-names.ts";

export { isDatabaseAway } from "./outage.ts";
export type { Sql } from "./sql.ts";

export type DbOptions = { url: string; pool: number; log: Log; name?: string };

/** No statement of ours takes this long, so one that does is stuck. */
const statementTimeoutMs = 30_000;
/** Includes the wait for a free connection of the pool. On a busy machine 5 s were too short. */
const connectTimeoutMs = 15_000;
/**
 * Sent as a statement and not as startup parameters, because a pooler rejects startup parameters that it does not know.
 * Partition pruning is off because PostgreSQL 18 crashes or loses rows with it under concurrent updates: docs/decisions/0015.
 * A role's client_min_messages = error would hide the warning of a commit that is not replicated (client.ts).
 */
const sessionSettings = `set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = ${statementTimeoutMs};
  set lock_timeout = 10000; set timezone = 'UTC'; set enable_partition_pruning = off; set client_min_messages = notice`;

export function openDb(options: DbOptions): Sql {
  const address = readDatabaseUrl(options.url);
  const named = { application_name: options.name ?? "posthorn", ...address.config };
  const hosts = createHosts({ ...address, config: named }, options.log);
  const config = {
    ...named,
    connectionTimeoutMillis: connectTimeoutMs,
    // The server's statement_timeout ends first; this limit is for a server that no longer answers.
    query_timeout: statementTimeoutMs + 5_000,
    keepAlive: true,
  };
  const pool = new pg.Pool({
    ...config,
    Client: hosts.Client,
    max: options.pool,
    min: 0,
    idleTimeoutMillis: 0,
    // Ends prepared statements whose texts name the partitions of a week that is over.
    maxLifetimeSeconds: nameKeptMs / 1000,
    // The pool awaits the returned promise, although its type does not say so.
    onConnect: async (client) => {
      await client.query(sessionSettings);
      const server = await checkOrigin(client, options.log);
      if (server) health.noteServer(server);
    },
  });
  // The pool replaces a lost idle connection when it needs one.
  pool.on("error", (error) => options.log.debug({ reason: error.message }, "an idle database connection was lost"));
  const connect = async () => {
    const client = new hosts.Client({ ...config, query_timeout: 0 });
    await client.connect();
    return client;
  };
  const health = createHealth({ log: options.log, connect, isPoolBusy: () => pool.waitingCount > 0 });
  return createSql({ pool, health, hosts, connect });
}

export async function ping(sql: Sql): Promise<void> {
  await sql`select 1`;
}

export type ServerFacts = {
  version: { number: number; text: string };
  /** A pooler in transaction or statement mode: two connections of ours may get the same session, so session settings do not last. */
  sharedSessions: boolean;
};

/** Checks a server before openDb changes any session setting, which would affect other clients of the same pooler. */
export async function examineServer(url: string): Promise<ServerFacts> {
  const address = readDatabaseUrl(url);
  const config = { application_name: "posthorn", ...address.config };
  const hosts = createHosts({ ...address, config }, silentLog());
  const limits = { connectionTimeoutMillis: connectTimeoutMs, query_timeout: 10_000 };
  const [first, second] = [new hosts.Client(limits), new hosts.Client(limits)];
  try {
    await Promise.all([first.connect(), second.connect()]);
    const { rows } = await first.query<ServerFacts["version"]>(
      "select current_setting('server_version_num')::int as number, current_setting('server_version') as text",
    );
    return { version: rows[0]!, sharedSessions: await shareSessions(first, second) };
  } catch (error) {
    throw withCode(error);
  } finally {
    await Promise.all([first, second].map((client) => client.end().catch(() => {})));
    hosts.close();
  }
}

async function shareSessions(first: pg.Client, second: pg.Client): Promise<boolean> {
  try {
    const pid = await backendPid(first);
    // Most poolers reuse the last used session first. With a pooler that rotates its sessions, one of several rounds shows a different one.
    for (let round = 0; round < 4; round++) {
      await second.query("begin");
      const secondPid = await backendPid(second);
      const firstPid = secondPid === pid ? pid : await backendPid(first);
      await second.query("commit");
      if (secondPid === pid || firstPid !== pid) return true;
    }
    return false;
  } catch (error) {
    // The error of a pooler in statement mode on `begin`.
    if ((error as { code?: string }).code === "08P01") return true;
    throw error;
  }
}

async function backendPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}

export async function serverVersion(sql: Sql): Promise<{ number: number; text: string }> {
  const [row] = await sql<{ number: number; text: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as text`;
  return row!;
}

export type Replication = {
  /** The standbys that commits wait for, as synchronous_standby_names names them; empty: none. */
  names: string;
  /** synchronous_commit: what a commit waits for. */
  level: string;
  /** The standbys that are connected. */
  standbys: number;
};

/** How the primary replicates the commits of this session. */
export async function readReplication(sql: Sql): Promise<Replication> {
  const [row] = await sql<Replication[]>`
    select current_setting('synchronous_standby_names') as names, current_setting('synchronous_commit') as level,
      (select count(*)::int from pg_stat_replication where application_name <> 'pg_basebackup') as standbys`;
  return row!;
}

export async function databaseNowMs(sql: Sql): Promise<number> {
  const [row] = await sql<{ nowMs: number }[]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`;
  return row!.nowMs;
}

/** Text that PostgreSQL cannot store: 22021 in text, 22P05 in jsonb. With UTF-8 on both sides only NUL causes it. */
export function isUnstorableText(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "22021" || code === "22P05";
}

/** A row that a new row refers to does not exist, for example because it was deleted meanwhile. */
export function isMissingReference(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "23503";
}

/** Retries serialization failures (40001) and deadlocks (40P01), up to `tries` attempts. `codes`: other errors that a second try avoids. */
export async function retrying<T>(work: () => PromiseLike<T>, tries = 5, codes: readonly string[] = []): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const code = (error as { code?: string }).code ?? "";
      if (attempt >= tries || !["40001", "40P01", ...codes].includes(code)) throw error;
    }
  }
}
