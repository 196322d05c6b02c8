/** The one door to PostgreSQL: opens a pool with the settings every statement relies on. Called by assemble and the command line. */
import postgres from "postgres";
import type { Log } from "../ops/log.ts";
import { Problem } from "../rules/problem.ts";
import { socketOptions } from "./embedded.ts";

export type Sql = postgres.Sql<Record<string, never>>;
export type Transaction = postgres.TransactionSql<Record<string, never>>;

export type DbOptions = { url: string; pool: number; log: Log; name?: string };

/** A statement that takes longer than this is stuck; nothing of ours does. */
const statementTimeoutMs = 30_000;

export function openDb(options: DbOptions): Sql {
  return postgres(options.url, {
    ...socketOptions(options.url),
    max: options.pool,
    connect_timeout: 5,
    idle_timeout: 0,
    max_lifetime: 0,
    // The program asks for few distinct statements, all with parameters: prepared once per connection.
    prepare: true,
    types: {},
    connection: {
      application_name: options.name ?? "posthorn",
      TimeZone: "UTC",
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      lock_timeout: 10_000,
    },
    onnotice: (notice) => options.log.debug({ notice: notice.message }, "database notice"),
    // A lost server is asked for again soon: callers are told `unavailable` meanwhile.
    backoff: (retries: number) => Math.min(0.05 * 2 ** retries, 1),
  });
}

export async function ping(sql: Sql): Promise<void> {
  await sql`select 1`;
}

export async function serverVersion(sql: Sql): Promise<{ number: number; text: string }> {
  const [row] = await sql<{ number: number; text: string }[]>`
    select current_setting('server_version_num')::int as number, current_setting('server_version') as text`;
  return row!;
}

/** Errors that mean "the database is not there right now", as opposed to a bug in a statement. */
const awayCodes = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
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
export async function retrying<T>(work: () => Promise<T>, tries = 5): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const code = (error as { code?: string }).code;
      if (attempt >= tries || (code !== "40001" && code !== "40P01")) throw error;
    }
  }
}
