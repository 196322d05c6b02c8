/** The one door to PostgreSQL: opens a pool with the settings every statement relies on. Called by assemble and the command line. */
import pg from "pg";
import type { Log } from "../ops/log.ts";
import { Problem } from "../rules/problem.ts";
import { socketOptions } from "./embedded.ts";
import { createSql, type Sql, withCode } from "./sql.ts";

export type { Sql } from "./sql.ts";

export type DbOptions = { url: string; pool: number; log: Log; name?: string };

/** A statement that takes longer than this is stuck; nothing of ours does. */
const statementTimeoutMs = 30_000;
/** Also covers the wait for a free connection of the pool. On a busy machine 5 s were too short for both. */
const connectTimeoutMs = 15_000;
/** Said in the session and not at its start: a pooler before the server turns away whoever starts with words it does not know. Without
 * partition pruning, because PostgreSQL 18 crashes or loses rows where it meets a row that changed meanwhile: docs/decisions/0015. */
const sessionSettings = `set statement_timeout = ${statementTimeoutMs}; set idle_in_transaction_session_timeout = ${statementTimeoutMs};
  set lock_timeout = 10000; set timezone = 'UTC'; set enable_partition_pruning = off`;

export function openDb(options: DbOptions): Sql {
  const config = {
    application_name: options.name ?? "posthorn",
    ...addressOf(options.url),
    connectionTimeoutMillis: connectTimeoutMs,
    // The server's own limit comes first; this one is for a server that has gone silent.
    query_timeout: statementTimeoutMs + 5_000,
    keepAlive: true,
  };
  const pool = new pg.Pool({
    ...config,
    ...{ max: options.pool, min: 0, idleTimeoutMillis: 0 },
    // The pool waits for what this returns, whatever its type says.
    onConnect: async (client) => void (await client.query(sessionSettings)),
  });
  // The pool listens on idle connections only; one that dies just as it is handed out must not end the process.
  pool.on("connect", (client) => client.on("error", () => {}));
  // A connection that dies while nobody uses it is replaced when it is needed.
  pool.on("error", (error) => options.log.debug({ reason: error.message }, "an idle database connection was lost"));
  return createSql({
    pool,
    async connect() {
      const client = new pg.Client({ ...config, query_timeout: 0 });
      await client.connect();
      return client;
    },
  });
}

/** node-postgres reads no socket from a URL: its directory is handed over beside the rest. */
function addressOf(url: string): pg.ClientConfig {
  const { path } = socketOptions(url);
  if (path === undefined) return { connectionString: url };
  const { username, password, pathname, port, searchParams } = new URL(url);
  const name = searchParams.get("application_name");
  return {
    host: path.slice(0, path.lastIndexOf("/")),
    port: Number(port || 5432),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    ...(name === null ? {} : { application_name: name }),
  };
}

export async function ping(sql: Sql): Promise<void> {
  await sql`select 1`;
}

export type ServerFacts = {
  version: { number: number; text: string };
  /** A pooler lends two connections of ours the same session in turns: nothing that is said in one can be relied on. */
  sharedSessions: boolean;
};

/** Looks at a server before anything is said to it that another client of the same pooler could come to feel. */
export async function examineServer(url: string): Promise<ServerFacts> {
  const [one, other] = [newClient(), newClient()];
  function newClient(): pg.Client {
    const client = new pg.Client({
      ...{ application_name: "posthorn", connectionTimeoutMillis: connectTimeoutMs, query_timeout: 10_000 },
      ...addressOf(url),
    });
    client.on("error", () => {});
    return client;
  }
  try {
    await Promise.all([one.connect(), other.connect()]);
    const { rows } = await one.query<ServerFacts["version"]>(
      "select current_setting('server_version_num')::int as number, current_setting('server_version') as text",
    );
    return { version: rows[0]!, sharedSessions: await shareSessions(one, other) };
  } catch (error) {
    throw withCode(error);
  } finally {
    await Promise.all([one, other].map((client) => client.end().catch(() => {})));
  }
}

async function shareSessions(one: pg.Client, other: pg.Client): Promise<boolean> {
  try {
    const own = await sessionOf(one);
    // The one that was used last is mostly lent first; where they go round, one of these finds another.
    for (let round = 0; round < 4; round++) {
      await other.query("begin");
      const others = await sessionOf(other);
      const now = others === own ? own : await sessionOf(one);
      await other.query("commit");
      if (others === own || now !== own) return true;
    }
    return false;
  } catch (error) {
    // Said to `begin` where a session is lent for one statement.
    if ((error as { code?: string }).code === "08P01") return true;
    throw error;
  }
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}

export async function serverVersion(sql: Sql): Promise<{ number: number; text: string }> {
  const [row] = await sql<{ number: number; text: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as text`;
  return row!;
}

export async function databaseNowMs(sql: Sql): Promise<number> {
  const [row] = await sql<{ nowMs: number }[]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`;
  return row!.nowMs;
}

/** Errors that mean "the database is not there right now", as opposed to a bug in a statement. */
const awayCodes = new Set([
  "CONNECTION_LOST",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "57P01", // admin_shutdown
  "57P02", // crash_shutdown
  "57P03", // cannot_connect_now
  "08006",
  "08001",
  "08003",
  "53100", // disk_full
  "53200", // out_of_memory
  "53300", // too_many_connections
  "58030", // io_error
  "57014", // query_canceled: our own statement time-out
  "25P03", // idle_in_transaction_session_timeout: our own, too
  "55P03", // lock_not_available
  "25006", // read_only_sql_transaction: a fail-over is under way
]);

export function isDatabaseAway(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && (awayCodes.has(code) || code.startsWith("08"));
}

/** Text that PostgreSQL cannot hold: 22021 in text, 22P05 in jsonb; with UTF-8 on both sides that is NUL alone. */
export function isUnstorableText(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "22021" || code === "22P05";
}

/** What a caller is told when the store cannot answer: nothing was acknowledged, trying again is safe. */
export function unavailable(cause: unknown): Problem {
  return new Problem(
    "unavailable",
    "The database cannot be reached right now. Nothing was changed by this answer; try again in a moment.",
    {
      retryAfterMs: 1000,
      cause,
    },
  );
}

/** Serialisation failures and deadlocks are ours to retry (40001, 40P01), a few times. */
export async function retrying<T>(work: () => PromiseLike<T>, tries = 5): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const code = (error as { code?: string }).code;
      if (attempt >= tries || (code !== "40001" && code !== "40P01")) throw error;
    }
  }
}
