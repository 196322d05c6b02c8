/**
 * Runs schema changes on tables in use. A change waits only briefly for its locks and then retries, because every other session that
 * needs the table queues behind a waiting change. Used by migrate.ts, index-build.ts and partitions.ts.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "./pool.ts";

/** The session that a change waits for; shown in the log and by `posthorn migrate`. */
export type Blocker = { pid: number; application: string; state: string; openForMs: number; query: string };

/** The lock_timeout of a change, and so the longest time that it blocks other sessions while it waits. */
const lockWaitMs = 50;
/** How long a statement of a change may take, and how long the client may pause between two. Beyond it the server rolls back. */
const holdMs = 100;
const longestHoldMs = 3_200;
/** After this many slow tries the hold time doubles, so that the change also succeeds on a slow machine. */
const triesPerHold = 10;
const firstPauseMs = 100;
const longestPauseMs = 1_500;

/** A statement took too long, or the client left its transaction idle (this process or its network stalled). */
const tooSlow = new Set(["57014", "25P03"]);
/** Also a lock timeout, or a deadlock with a session that locks in another order. */
const retryable = new Set([...tooSlow, "55P03", "40P01"]);

export type BriefOptions = {
  /** Tables whose locks the change needs; empty when no other session can hold one. */
  tables: readonly string[];
  /** Called at the first failed try and then about every 30 seconds. */
  onWait(blocker: Blocker | undefined): void;
  /** Ends the wait between two tries. */
  stop?: AbortSignal;
};

const reportEveryMs = 30_000;

/** Runs `change` in a transaction, and repeats it until it gets its locks. */
export async function withBriefLocks<T>(
  sql: Sql,
  change: (tx: Sql) => PromiseLike<T>,
  options: BriefOptions,
): Promise<T> {
  const limitsIdle = options.tables.length > 0;
  return await repeat(sql, options, async ({ holdMs, settings }) => {
    const began = performance.now();
    try {
      return await sql.begin(async (tx) => {
        const idle = limitsIdle ? `; set local idle_in_transaction_session_timeout = ${holdMs}` : "";
        await tx.unsafe(settings + idle);
        return await change(tx);
      }, withoutReceipt);
    } catch (error) {
      const stalled = limitsIdle && performance.now() - began >= holdMs;
      throw stalled && brokenConnection.has(codeOf(error)) ? new IdleTooLong({ cause: error }) : error;
    }
  });
}

/** Migrations run before there is a table for receipts, and they read the schema to find out what is done. */
export const withoutReceipt = { receipt: "never" } as const;

/**
 * When the server ends an idle transaction it sends an error and closes the session. A client that writes before it reads sees only the
 * broken connection.
 */
const brokenConnection = new Set(["EPIPE", "ECONNRESET", "CONNECTION_LOST"]);

class IdleTooLong extends Error {
  readonly code = "25P03";
  constructor(options: { cause: unknown }) {
    super("the server closed the connection because the client paused while it held locks", options);
  }
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? "";

/**
 * Like `withBriefLocks` for one text, which is sent in one message with its limits and its commit, so that a stalled client keeps no
 * lock. It sets no idle timeout, because that would end the session, and the index builder's session must keep its advisory lock.
 */
export async function runWithBriefLocks(sql: Sql, text: string, options: BriefOptions): Promise<void> {
  await repeat(sql, options, async ({ settings }) => {
    await sql.begin(async (tx) => await runAndCommit(tx, `${settings}; ${text}`), withoutReceipt);
  });
}

/** Runs the last statements of a transaction and commits in the same message to the server. */
export async function runAndCommit(tx: Sql, text: string): Promise<void> {
  await tx.unsafe(`${text}\n;commit`);
}

type Limits = { holdMs: number; settings: string };

async function repeat<T>(sql: Sql, options: BriefOptions, run: (limits: Limits) => Promise<T>): Promise<T> {
  const { tables, stop } = options;
  let reportedAt = Number.NEGATIVE_INFINITY;
  let pauseMs = firstPauseMs;
  for (let slowTries = 0; ; ) {
    stop?.throwIfAborted();
    try {
      const holdMs = holdTimeMs(slowTries);
      const limit = tables.length > 0 ? `; set local statement_timeout = ${holdMs}` : "";
      return await run({ holdMs, settings: `set local lock_timeout = ${lockWaitMs}${limit}` });
    } catch (error) {
      const code = codeOf(error);
      // Without tables in use only the session's own statement_timeout can have ended it, and a retry would take as long.
      if (!retryable.has(code) || (tooSlow.has(code) && tables.length === 0)) throw error;
      if (tooSlow.has(code)) slowTries++;
      if (performance.now() - reportedAt > reportEveryMs) {
        reportedAt = performance.now();
        options.onWait(await findBlocker(sql, tables));
      }
      await pauseFor(pauseMs * (0.75 + Math.random() / 2), stop);
      pauseMs = Math.min(pauseMs * 1.5, longestPauseMs);
    }
  }
}

/** How long a change may hold its locks. Tries that only waited for a lock do not count as slow. */
export function holdTimeMs(slowTries: number): number {
  return Math.min(holdMs * 2 ** Math.floor(slowTries / triesPerHold), longestHoldMs);
}

/** Waits; throws the signal's reason, instead of the timer's error, when `stop` aborts. */
export async function pauseFor(ms: number, stop: AbortSignal | undefined): Promise<void> {
  await delay(ms, undefined, { signal: stop }).catch(() => stop?.throwIfAborted());
}

/** The oldest transaction of another session that holds a lock on one of the tables or their partitions. */
export async function findBlocker(sql: Sql, tables: readonly string[]): Promise<Blocker | undefined> {
  const [row] = await sql<Blocker[]>`
    with wanted as (select oid from pg_class where relname = any(${tables}::text[]) and relnamespace = 'public'::regnamespace)
    select a.pid, a.application_name as application, coalesce(a.state, '') as state,
      (extract(epoch from clock_timestamp() - a.xact_start) * 1000)::float8 as "openForMs",
      left(regexp_replace(a.query, '\\s+', ' ', 'g'), 80) as query
    from pg_stat_activity a
    where a.xact_start is not null and a.pid <> pg_backend_pid() and exists (
      select 1 from pg_locks l where l.pid = a.pid and l.granted and l.locktype = 'relation'
        and l.database = (select oid from pg_database where datname = current_database())
        and l.relation in (select oid from wanted union select inhrelid from pg_inherits where inhparent in (select oid from wanted)))
    order by a.xact_start limit 1`;
  return row;
}
