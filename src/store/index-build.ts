/** Builds an index on a table in use, partition by partition, without blocking reads or writes. Can be killed and started again at any
 * moment. Called by migrate for a file that is one `create index concurrently`. */
import { createHash } from "node:crypto";
import { type Blocker, type BriefOptions, brieflyRun, pauseFor } from "./brief-locks.ts";
import type { Sql } from "./db.ts";
import type { IndexDefinition } from "./migration-files.ts";

/** One builder at a time. The lock belongs to the session, so it ends with it; a build whose program was killed holds it until it ends. */
const lockKey = 0x706f7375;
const betweenTriesMs = 500;
const progressEveryMs = 10_000;

export type LongWork = {
  /** Another node may have done the same meanwhile. */
  isDone(sql: Sql): Promise<boolean>;
  /** Another node is at work; called once. */
  onQueue(): void;
  /** Cancels the statement that runs, and rejects with the signal's reason. */
  stop?: AbortSignal;
};

export type BuildReport = LongWork & {
  onStep(at: { index: string; table: string; step: number; of: number }): void;
  onProgress(at: { index: string; phase: string; percent: number | undefined }): void;
  onWait(tables: string[], blocker: Blocker | undefined): void;
};

export async function buildIndex(sql: Sql, index: IndexDefinition, report: BuildReport): Promise<void> {
  // A pool of one connection has none left for looking at the progress.
  const watched = sql.pool.options.max > 1 ? sql : undefined;
  await workAlone(sql, report, async (own) => {
    if (await isPartitioned(own, index.table)) await buildPartitions(own, { index, watched, report });
    else await buildOne(own, { ...index, watched, report, step: 1, of: 1 });
  });
}

/** Runs work that takes long on one node at a time, in a session without time limits. */
export async function workAlone(sql: Sql, long: LongWork, work: (own: Sql) => Promise<void>): Promise<void> {
  await sql.session(async (own) => {
    await takeLock(own, long);
    if (await long.isDone(own)) return;
    await cancelable(sql, own, { work: () => work(own), stop: long.stop });
  });
}

async function takeLock(own: Sql, { onQueue, stop }: LongWork): Promise<void> {
  for (let said = false; ; said = true) {
    const [row] = await own<{ taken: boolean }[]>`select pg_try_advisory_lock(${lockKey}) as taken`;
    if (row!.taken) return;
    if (!said) onQueue();
    await pauseFor(betweenTriesMs, stop);
  }
}

type Cancelable = { work(): Promise<void>; stop: AbortSignal | undefined };

async function cancelable(sql: Sql, own: Sql, { work, stop }: Cancelable): Promise<void> {
  if (!stop) return await work();
  stop.throwIfAborted();
  const [row] = await own<{ pid: number }[]>`select pg_backend_pid() as pid`;
  let onStop = () => {};
  const stopped = new Promise<void>((_, reject) => {
    onStop = () => {
      // Without a second connection, the server finishes the statement after the session has closed.
      const cancel = sql.pool.options.max > 1 ? sql`select pg_cancel_backend(${row!.pid})` : Promise.resolve();
      void Promise.resolve(cancel).then(
        () => reject(stop.reason),
        () => reject(stop.reason),
      );
    };
  });
  stop.addEventListener("abort", onStop, { once: true });
  const working = work();
  // It fails after the stop has been reported.
  working.catch(() => {});
  try {
    await Promise.race([working, stopped]);
  } catch (error) {
    // The cancelled statement may fail before the answer to the cancel arrives.
    stop.throwIfAborted();
    throw error;
  } finally {
    stop.removeEventListener("abort", onStop);
  }
}

async function isPartitioned(own: Sql, table: string): Promise<boolean> {
  const [row] = await own<
    { kind: string }[]
  >`select relkind::text as kind from pg_class where oid = ${table}::text::regclass`;
  return row?.kind === "p";
}

type Parts = { index: IndexDefinition; watched: Sql | undefined; report: BuildReport };

async function buildPartitions(own: Sql, { index, watched, report }: Parts): Promise<void> {
  const { name, table, unique, rest } = index;
  const onWait = (tables: string[]) => (blocker: Blocker | undefined) => report.onWait(tables, blocker);
  // The parent alone has no rows. From now on PostgreSQL gives every new partition this index by itself.
  const { stop } = report;
  await brieflyRun(own, `create ${unique ? "unique " : ""}index if not exists ${name} on only ${table} ${rest}`, {
    ...{ tables: [table], onWait: onWait([table]), stop },
  });
  let of = 0;
  for (let step = 1; ; step++) {
    const missing = await partitionsWithout(own, index);
    const partition = missing[0];
    if (partition === undefined) break;
    of = Math.max(of, step - 1 + missing.length);
    const child = nameFor(partition, name);
    try {
      await buildOne(own, { name: child, table: partition, unique, rest, watched, report, step, of });
      await brieflyRun(own, `alter index ${name} attach partition ${child}`, {
        ...{ tables: [partition], onWait: onWait([partition]), stop },
      });
    } catch (error) {
      // Housekeeping dropped the partition meanwhile: it no longer shows among the missing ones.
      if ((error as { code?: string }).code !== "42P01" && (error as { code?: string }).code !== "42704") throw error;
      if ((await partitionsWithout(own, index)).includes(partition)) throw error;
    }
  }
  await validateParent(own, index, { onWait: onWait([table]), stop });
}

/** When the last partition without the index is dropped instead of attached, the parent's stays invalid. Attaching a part once more makes
 * PostgreSQL 18 look again; older ones leave it so, which harms no query: plans use the partitions' own indexes. */
async function validateParent(
  own: Sql,
  { name, table }: IndexDefinition,
  waiting: Pick<BriefOptions, "onWait" | "stop">,
): Promise<void> {
  const [part] = await own<{ child: string }[]>`
    select h.inhrelid::regclass::text as child from pg_index x join pg_inherits h on h.inhparent = x.indexrelid
    where x.indexrelid = to_regclass(${name}) and not x.indisvalid limit 1`;
  if (!part) return;
  await brieflyRun(own, `alter index ${name} attach partition ${part.child}`, { tables: [table], ...waiting });
}

type One = IndexDefinition & Omit<Parts, "index"> & { step: number; of: number };

/** Leaves a valid index of this name on this table. An invalid one is what a killed build left. */
async function buildOne(own: Sql, one: One): Promise<void> {
  const { name, table, unique, rest, report } = one;
  for (let tries = 1; ; tries++) {
    const [there] = await own<{ valid: boolean }[]>`
      select indisvalid as valid from pg_index where indexrelid = to_regclass(${name}) and indrelid = to_regclass(${table})`;
    if (there?.valid) return;
    if (there) await own.unsafe(`drop index concurrently if exists ${name}`);
    report.onStep({ index: name, table, step: one.step, of: one.of });
    const stopWatching = watch(one);
    try {
      await own.unsafe(`create ${unique ? "unique " : ""}index concurrently ${name} on ${table} ${rest}`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "40P01" || tries === 5) throw error;
    } finally {
      stopWatching();
    }
  }
}

/** PostgreSQL tells how far a build is; asked through another connection of the pool. */
function watch({ watched, report, name }: One): () => void {
  if (!watched) return () => {};
  const look = async () => {
    const [row] = await watched<{ phase: string; percent: number | null }[]>`
      select p.phase, (100.0 * p.blocks_done / nullif(p.blocks_total, 0))::int as percent
      from pg_stat_progress_create_index p where p.index_relid = to_regclass(${name})`;
    if (row) report.onProgress({ index: name, phase: row.phase, percent: row.percent ?? undefined });
  };
  const timer = setInterval(() => void look().catch(() => {}), progressEveryMs);
  return () => clearInterval(timer);
}

/** Small partitions first: most of the steps are over soon. */
async function partitionsWithout(own: Sql, { name, table }: IndexDefinition): Promise<string[]> {
  const rows = await own<{ name: string }[]>`
    select c.relname as name from pg_inherits h join pg_class c on c.oid = h.inhrelid
    where h.inhparent = to_regclass(${table}) and not exists (
      select 1 from pg_inherits ih join pg_index x on x.indexrelid = ih.inhrelid
      where ih.inhparent = to_regclass(${name}) and x.indrelid = c.oid and x.indisvalid)
    order by pg_relation_size(c.oid), c.relname`;
  return rows.map((row) => row.name);
}

/** PostgreSQL cuts names at 63 characters; two that are cut to the same one must not meet. */
export function nameFor(partition: string, index: string): string {
  const whole = `${partition}_${index}`;
  if (whole.length <= 63) return whole;
  return `${whole.slice(0, 54)}_${createHash("sha256").update(whole).digest("hex").slice(0, 8)}`;
}
