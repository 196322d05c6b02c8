/** Runs schema changes on tables in use: a change waits for its locks for a moment only and tries again later, because every other
 * session that wants the table queues behind a change that waits. Used by migrate and the index builder. */
import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "./db.ts";

/** What a change waits for, for the log and for `posthorn migrate`. */
export type Blocker = { pid: number; application: string; state: string; openForMs: number; query: string };

/** A session that wants the table waits at most this long behind a change that is still waiting itself. */
const lockWaitMs = 50;
/** How long a statement of a change may take, and how long the client may pause between two. The server rolls back what exceeds it. */
const holdMs = 100;
const longestHoldMs = 3_200;
/** A machine too slow for `holdMs` must still get its change through: after so many slow tries the time doubles. */
const triesPerHold = 10;
const firstPauseMs = 100;
const longestPauseMs = 1_500;

/** A statement took too long, or the client left its transaction idle (this process or its network stalled). */
const tooSlow = new Set(["57014", "25P03"]);
/** Also: waited too long for a lock, or met a session that locks in another order (a deadlock). */
const tryAgain = new Set([...tooSlow, "55P03", "40P01"]);

export type BriefOptions = {
  /** Tables whose locks the change needs; empty when no other session can hold one. */
  tables: readonly string[];
  /** Called at the first failed try and then about every half minute. */
  onWait(blocker: Blocker | undefined): void;
  /** Ends the wait between two tries. */
  stop?: AbortSignal;
};

const sayAgainMs = 30_000;

/** Repeats `change` in a transaction of its own until it gets its locks. */
export async function briefly<T>(sql: Sql, change: (tx: Sql) => PromiseLike<T>, options: BriefOptions): Promise<T> {
  const limitsIdle = options.tables.length > 0;
  return await repeat(sql, options, async ({ holdMs, settings }) => {
    const began = performance.now();
    try {
      return await sql.begin(async (tx) => {
        const idle = limitsIdle ? `; set local idle_in_transaction_session_timeout = ${holdMs}` : "";
        await tx.unsafe(settings + idle);
        return await change(tx);
      });
    } catch (error) {
      const stalled = limitsIdle && performance.now() - began >= holdMs;
      throw stalled && brokenConnection.has(codeOf(error)) ? new IdleTooLong({ cause: error }) : error;
    }
  });
}

/** The server ends an idle transaction with a word and its session. A client that writes before it reads hears only of the latter. */
const brokenConnection = new Set(["EPIPE", "ECONNRESET", "CONNECTION_LOST"]);

class IdleTooLong extends Error {
  readonly code = "25P03";
  constructor(options: { cause: unknown }) {
    super("the connection broke after the client had paused for longer than a change may hold its locks", options);
  }
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? "";

/** As `briefly` for one text, which is sent together with its limits and its commit: the client can stall without keeping a lock. The
 * limit for idle transactions would end the session, and a session of the index builder has a lock to keep. */
export async function brieflyRun(sql: Sql, text: string, options: BriefOptions): Promise<void> {
  await repeat(sql, options, async ({ settings }) => {
    await sql.begin(async (tx) => await commitWith(tx, `${settings}; ${text}`));
  });
}

/** Runs the last statements of a transaction; the server commits them in the same message. */
export async function commitWith(tx: Sql, text: string): Promise<void> {
  await tx.unsafe(`${text}\n;commit`);
}

type Limits = { holdMs: number; settings: string };

async function repeat<T>(sql: Sql, options: BriefOptions, run: (limits: Limits) => Promise<T>): Promise<T> {
  const { tables, stop } = options;
  let saidAt = Number.NEGATIVE_INFINITY;
  let pauseMs = firstPauseMs;
  for (let slowTries = 0; ; ) {
    stop?.throwIfAborted();
    try {
      const holdMs = holdFor(slowTries);
      const limit = tables.length > 0 ? `; set local statement_timeout = ${holdMs}` : "";
      return await run({ holdMs, settings: `set local lock_timeout = ${lockWaitMs}${limit}` });
    } catch (error) {
      const code = codeOf(error);
      // Without tables in use, the session's own limit ended it: another try would take as long.
      if (!tryAgain.has(code) || (tooSlow.has(code) && tables.length === 0)) throw error;
      if (tooSlow.has(code)) slowTries++;
      if (performance.now() - saidAt > sayAgainMs) {
        saidAt = performance.now();
        options.onWait(await findBlocker(sql, tables));
      }
      await pauseFor(pauseMs * (0.75 + Math.random() / 2), stop);
      pauseMs = Math.min(pauseMs * 1.5, longestPauseMs);
    }
  }
}

/** Tries that only waited for a lock do not count: they say nothing about this machine's speed. */
export function holdFor(slowTries: number): number {
  return Math.min(holdMs * 2 ** Math.floor(slowTries / triesPerHold), longestHoldMs);
}

/** Throws the reason of the stop instead of an error about the timer. */
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
