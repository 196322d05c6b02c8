/** Builds an index on a table in use, partition by partition, without blocking reads or writes. Can be killed and started again at any
 * moment. Called by migrate for a file that is one `create index concurrently`. */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { type Blocker, briefly } from "./brief-locks.ts";
import type { Sql } from "./db.ts";
import type { IndexDefinition } from "./migration-files.ts";

/** One builder at a time. The lock belongs to the session, so it goes with it; an orphaned build still holds it until it ends. */
const lockKey = 0x706f7375;
const betweenTriesMs = 500;
const progressEveryMs = 10_000;

export type BuildReport = {
  /** Another node may have finished the same index meanwhile. */
  isDone(sql: Sql): Promise<boolean>;
  onQueue(): void;
  onStep(at: { index: string; table: string; step: number; of: number }): void;
  onProgress(at: { index: string; phase: string; percent: number | undefined }): void;
  onWait(tables: string[], blocker: Blocker | undefined): void;
};

export async function buildIndex(sql: Sql, index: IndexDefinition, report: BuildReport): Promise<void> {
  // A pool of one connection has none left for looking at the progress.
  const watched = sql.pool.options.max > 1 ? sql : undefined;
  await sql.session(async (own) => {
    await takeLock(own, report);
    if (await report.isDone(own)) return;
    if (await isPartitioned(own, index.table)) await buildPartitions(own, { index, watched, report });
    else await buildOne(own, { ...index, watched, report, step: 1, of: 1 });
  });
}

async function takeLock(own: Sql, report: BuildReport): Promise<void> {
  for (let said = false; ; said = true) {
    const [row] = await own<{ taken: boolean }[]>`select pg_try_advisory_lock(${lockKey}) as taken`;
    if (row!.taken) return;
    if (!said) report.onQueue();
    await delay(betweenTriesMs);
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
  await briefly(
    own,
    (tx) => tx.unsafe(`create ${unique ? "unique " : ""}index if not exists ${name} on only ${table} ${rest}`),
    { tables: [table], onWait: onWait([table]) },
  );
  let of = 0;
  for (let step = 1; ; step++) {
    const missing = await partitionsWithout(own, index);
    const partition = missing[0];
    if (partition === undefined) break;
    of = Math.max(of, step - 1 + missing.length);
    const child = nameFor(partition, name);
    try {
      await buildOne(own, { name: child, table: partition, unique, rest, watched, report, step, of });
      await briefly(own, (tx) => tx.unsafe(`alter index ${name} attach partition ${child}`), {
        tables: [partition],
        onWait: onWait([partition]),
      });
    } catch (error) {
      // Housekeeping dropped the partition meanwhile: it no longer shows among the missing ones.
      if ((error as { code?: string }).code !== "42P01" && (error as { code?: string }).code !== "42704") throw error;
      if ((await partitionsWithout(own, index)).includes(partition)) throw error;
    }
  }
  await validateParent(own, index, onWait([table]));
}

/** When the last partition without the index is dropped instead of attached, the parent's stays invalid. Attaching a part once more makes
 * PostgreSQL 18 look again; older ones leave it so, which harms no query: plans use the partitions' own indexes. */
async function validateParent(
  own: Sql,
  { name, table }: IndexDefinition,
  onWait: (blocker: Blocker | undefined) => void,
): Promise<void> {
  const [part] = await own<{ child: string }[]>`
    select h.inhrelid::regclass::text as child from pg_index x join pg_inherits h on h.inhparent = x.indexrelid
    where x.indexrelid = to_regclass(${name}) and not x.indisvalid limit 1`;
  if (!part) return;
  const attach = (tx: Sql) => tx.unsafe(`alter index ${name} attach partition ${part.child}`);
  await briefly(own, attach, { tables: [table], onWait });
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
