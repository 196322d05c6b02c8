/**
 * Builds an index on a table in use, partition by partition, without blocking reads or writes. It can be killed and restarted at any
 * time. migrate.ts calls it for a file that is one `create index concurrently`.
 */
import { createHash } from "node:crypto";
import { type Blocker, type BriefOptions, pauseFor, runWithBriefLocks } from "./brief-locks.ts";
import type { IndexDefinition } from "./migration-files.ts";
import type { Sql } from "./pool.ts";

/** The advisory lock that allows one builder at a time. It ends with its session, which after a kill lasts until the running build ends. */
const lockKey = 0x706f7375;
const betweenTriesMs = 500;
const progressEveryMs = 10_000;

export type LongWork = {
  /** Checked after the wait for the lock: another node may have done the work. */
  isDone(sql: Sql): Promise<boolean>;
  /** Called once when another node is doing the work. */
  onQueue(): void;
  /** Cancels the running statement; the work then rejects with the signal's reason. */
  stop?: AbortSignal;
};

export type BuildReport = LongWork & {
  onStep(at: { index: string; table: string; step: number; of: number }): void;
  onProgress(at: { index: string; phase: string; percent: number | undefined }): void;
  onWait(tables: string[], blocker: Blocker | undefined): void;
};

export async function buildIndex(sql: Sql, index: IndexDefinition, report: BuildReport): Promise<void> {
  // A pool with one connection has none left for progress queries.
  const progressSql = sql.pool.options.max > 1 ? sql : undefined;
  await runExclusively(sql, report, async (session) => {
    if (await isPartitioned(session, index.table)) await buildPartitions(session, { index, progressSql, report });
    else await buildOne(session, { ...index, progressSql, report, step: 1, of: 1 });
  });
}

/** Runs long work on one node at a time, in its own session without time limits. */
export async function runExclusively(
  sql: Sql,
  options: LongWork,
  work: (session: Sql) => Promise<void>,
): Promise<void> {
  await sql.session(async (session) => {
    await takeLock(session, options);
    if (await options.isDone(session)) return;
    await cancelable(sql, session, { work: () => work(session), stop: options.stop });
  });
}

async function takeLock(session: Sql, { onQueue, stop }: LongWork): Promise<void> {
  for (let reported = false; ; reported = true) {
    const [row] = await session<{ taken: boolean }[]>`select pg_try_advisory_lock(${lockKey}) as taken`;
    if (row!.taken) return;
    if (!reported) onQueue();
    await pauseFor(betweenTriesMs, stop);
  }
}

type Cancelable = { work(): Promise<void>; stop: AbortSignal | undefined };

async function cancelable(sql: Sql, session: Sql, { work, stop }: Cancelable): Promise<void> {
  if (!stop) return await work();
  stop.throwIfAborted();
  const [row] = await session<{ pid: number }[]>`select pg_backend_pid() as pid`;
  let onStop = () => {};
  const stopped = new Promise<void>((_, reject) => {
    onStop = () => {
      // Without a second connection for the cancel, the server finishes the statement after the session has closed.
      const cancel = sql.pool.options.max > 1 ? sql`select pg_cancel_backend(${row!.pid})` : Promise.resolve();
      void Promise.resolve(cancel).then(
        () => reject(stop.reason),
        () => reject(stop.reason),
      );
    };
  });
  stop.addEventListener("abort", onStop, { once: true });
  const working = work();
  // After a stop the work still fails, and its error is not reported.
  working.catch(() => {});
  try {
    await Promise.race([working, stopped]);
  } catch (error) {
    // The canceled statement may fail before pg_cancel_backend returns.
    stop.throwIfAborted();
    throw error;
  } finally {
    stop.removeEventListener("abort", onStop);
  }
}

async function isPartitioned(session: Sql, table: string): Promise<boolean> {
  const [row] = await session<
    { kind: string }[]
  >`select relkind::text as kind from pg_class where oid = ${table}::text::regclass`;
  return row?.kind === "p";
}

type PartitionedBuild = { index: IndexDefinition; progressSql: Sql | undefined; report: BuildReport };

async function buildPartitions(session: Sql, { index, progressSql, report }: PartitionedBuild): Promise<void> {
  const { name, table, unique, rest } = index;
  const onWait = (tables: string[]) => (blocker: Blocker | undefined) => report.onWait(tables, blocker);
  // The parent itself has no rows. From now on PostgreSQL creates this index on every new partition.
  const { stop } = report;
  await runWithBriefLocks(
    session,
    `create ${unique ? "unique " : ""}index if not exists ${name} on only ${table} ${rest}`,
    {
      tables: [table],
      onWait: onWait([table]),
      stop,
    },
  );
  let of = 0;
  for (let step = 1; ; step++) {
    const missing = await partitionsWithout(session, index);
    const partition = missing[0];
    if (partition === undefined) break;
    of = Math.max(of, step - 1 + missing.length);
    const child = partitionIndexName(partition, name);
    try {
      await buildOne(session, { name: child, table: partition, unique, rest, progressSql, report, step, of });
      await runWithBriefLocks(session, `alter index ${name} attach partition ${child}`, {
        tables: [partition],
        onWait: onWait([partition]),
        stop,
      });
    } catch (error) {
      // If housekeeping has dropped the partition, it is no longer in the list, and the build continues.
      if ((error as { code?: string }).code !== "42P01" && (error as { code?: string }).code !== "42704") throw error;
      if ((await partitionsWithout(session, index)).includes(partition)) throw error;
    }
  }
  await validateParent(session, index, { onWait: onWait([table]), stop });
}

/**
 * When the last partition without the index is dropped instead of attached, the parent's index stays invalid. Attaching a partition
 * again makes PostgreSQL 18 validate it. Older versions leave it invalid, which harms no query: plans use the partitions' indexes.
 */
async function validateParent(
  session: Sql,
  { name, table }: IndexDefinition,
  waiting: Pick<BriefOptions, "onWait" | "stop">,
): Promise<void> {
  const [part] = await session<{ child: string }[]>`
    select h.inhrelid::regclass::text as child from pg_index x join pg_inherits h on h.inhparent = x.indexrelid
    where x.indexrelid = to_regclass(${name}) and not x.indisvalid limit 1`;
  if (!part) return;
  await runWithBriefLocks(session, `alter index ${name} attach partition ${part.child}`, {
    tables: [table],
    ...waiting,
  });
}

type SingleBuild = IndexDefinition & Omit<PartitionedBuild, "index"> & { step: number; of: number };

/** Builds the index on one table, unless it is there and valid. An invalid index is left over from a killed build and is dropped. */
async function buildOne(session: Sql, build: SingleBuild): Promise<void> {
  const { name, table, unique, rest, report } = build;
  for (let tries = 1; ; tries++) {
    const [existing] = await session<{ valid: boolean }[]>`
      select indisvalid as valid from pg_index where indexrelid = to_regclass(${name}) and indrelid = to_regclass(${table})`;
    if (existing?.valid) return;
    if (existing) await session.unsafe(`drop index concurrently if exists ${name}`);
    report.onStep({ index: name, table, step: build.step, of: build.of });
    const stopReporting = reportProgress(build);
    try {
      await session.unsafe(`create ${unique ? "unique " : ""}index concurrently ${name} on ${table} ${rest}`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "40P01" || tries === 5) throw error;
    } finally {
      stopReporting();
    }
  }
}

/** Reports the progress that PostgreSQL publishes, read through another connection of the pool. */
function reportProgress({ progressSql, report, name }: SingleBuild): () => void {
  if (!progressSql) return () => {};
  const poll = async () => {
    const [row] = await progressSql<{ phase: string; percent: number | null }[]>`
      select p.phase, (100.0 * p.blocks_done / nullif(p.blocks_total, 0))::int as percent
      from pg_stat_progress_create_index p where p.index_relid = to_regclass(${name})`;
    if (row) report.onProgress({ index: name, phase: row.phase, percent: row.percent ?? undefined });
  };
  const timer = setInterval(() => void poll().catch(() => {}), progressEveryMs);
  return () => clearInterval(timer);
}

/** Partitions without a valid index, smallest first, so that most steps finish early. */
async function partitionsWithout(session: Sql, { name, table }: IndexDefinition): Promise<string[]> {
  const rows = await session<{ name: string }[]>`
    select c.relname as name from pg_inherits h join pg_class c on c.oid = h.inhrelid
    where h.inhparent = to_regclass(${table}) and not exists (
      select 1 from pg_inherits ih join pg_index x on x.indexrelid = ih.inhrelid
      where ih.inhparent = to_regclass(${name}) and x.indrelid = c.oid and x.indisvalid)
    order by pg_relation_size(c.oid), c.relname`;
  return rows.map((row) => row.name);
}

/** PostgreSQL truncates names to 63 characters. A hash keeps two long names different. */
export function partitionIndexName(partition: string, index: string): string {
  const name = `${partition}_${index}`;
  if (name.length <= 63) return name;
  return `${name.slice(0, 54)}_${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}
