/** Runs schema changes on tables in use: a change waits for its locks for a moment only and tries again later, because every other
 * session that wants the table queues behind a change that waits. Used by migrate and the index builder. */
import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "./db.ts";

/** What a change waits for, for the log and for `posthorn migrate`. */
export type Blocker = { pid: number; application: string; state: string; openForMs: number; query: string };

/** A session that wants the table waits at most this long behind a change that is still waiting itself. */
const lockWaitMs = 50;
/** A change that got its locks is over within this time or rolled back. */
const holdMs = 100;
const longestHoldMs = 3_200;
/** A machine too slow for `holdMs` must still get its change through: after so many tries the time doubles. */
const triesPerHold = 10;
const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** Waited too long for a lock, took too long, or met a session that locks in another order (a deadlock). */
const tryAgain = new Set(["55P03", "57014", "40P01"]);

export type BriefOptions = {
  /** Tables whose locks the change needs; empty when no other session can hold one. */
  tables: readonly string[];
  /** Called at the first failed try and then about every half minute. */
  onWait(blocker: Blocker | undefined): void;
};

const sayAgainMs = 30_000;

/** Repeats `change` until it gets its locks. It runs in a transaction of its own that holds them for under 100 ms. */
export async function briefly<T>(sql: Sql, change: (tx: Sql) => PromiseLike<T>, options: BriefOptions): Promise<T> {
  let saidAt = Number.NEGATIVE_INFINITY;
  let pauseMs = firstPauseMs;
  for (let tries = 0; ; tries++) {
    try {
      return await sql.begin(async (tx) => {
        await tx.unsafe(`set local lock_timeout = ${lockWaitMs}`);
        if (options.tables.length > 0) await tx.unsafe(`set local statement_timeout = ${holdFor(tries)}`);
        return await change(tx);
      });
    } catch (error) {
      const code = (error as { code?: string }).code ?? "";
      // Without tables in use, the session's own limit ended it: another try would take as long.
      if (!tryAgain.has(code) || (code === "57014" && options.tables.length === 0)) throw error;
      if (performance.now() - saidAt > sayAgainMs) {
        saidAt = performance.now();
        options.onWait(await findBlocker(sql, options.tables));
      }
      await delay(pauseMs * (0.75 + Math.random() / 2));
      pauseMs = Math.min(pauseMs * 1.5, longestPauseMs);
    }
  }
}

export function holdFor(tries: number): number {
  return Math.min(holdMs * 2 ** Math.floor(tries / triesPerHold), longestHoldMs);
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
