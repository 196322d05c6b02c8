/**
 * Retention: drops partitions whose rows are past it, which deletes old rows without a scan, and deletes expired idempotency keys. All by
 * service time, so that a jump of the database's clock deletes nothing early. Called by housekeeping.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  companions,
  companionsOf,
  listPartitions,
  type Partition,
  type PartitionedTable,
  partitionAt,
  partitionsAround,
  readTimes,
} from "./partitions.ts";
import type { Sql } from "./pool.ts";

export type Retention = { contentDays: number; historyDays: number };

/** A drop that waits for its lock blocks new sessions on the table, so it waits only this long and then retries. */
const lockWaitMs = 50;
const lockTries = 6;
const betweenTriesMs = 250;

/** After a drop every session replans its statements and the file system frees blocks. The pause lets that finish before the next drop. */
const betweenDropsMs = 250;

/**
 * Drops every partition that has been closed for longer than its rows are kept, by service time, and that is no longer needed. A partition
 * is named by wall time, so its name says nothing about its age once the clock has jumped. Returns the names of the dropped partitions.
 */
export async function dropOldPartitions(sql: Sql, retention: Retention, pauseMs = betweenDropsMs): Promise<string[]> {
  const dropped: string[] = [];
  const { wallMs, partitionsMs } = await readTimes(sql);
  const all = await listPartitions(sql);
  const exists = new Set(all.map(({ table, startMs }) => `${table} ${startMs}`));
  const old: Partition[] = [];
  for (const partition of all) {
    const { table, name } = partition;
    // Dropped together with the partition that it belongs to, unless an earlier program has dropped that one alone.
    const owner = companions[table];
    if (owner && exists.has(`${owner} ${partition.startMs}`)) continue;
    const required = [wallMs, partitionsMs].some((ms) => partitionsAround(table, ms).some((one) => one.name === name));
    if (!required && (await isOld(sql, name, keptFor(table, retention)))) old.push(partition);
  }
  const events = await cutLog(sql, namesOf(all, "events"), namesOf(old, "events"));
  for (const partition of old) {
    const { table, name } = partition;
    if (table === "events" ? !events.has(name) : await isNeeded(sql, partition)) continue;
    if (!(await dropOne(sql, partition, keptFor(table, retention)))) continue;
    dropped.push(name);
    await delay(pauseMs);
  }
  return dropped;
}

function namesOf(partitions: readonly Partition[], table: PartitionedTable): string[] {
  return partitions.filter((one) => one.table === table).map(({ name }) => name);
}

async function isOld(sql: Sql, name: string, age: string): Promise<boolean> {
  return (await sql`select 1 from closed_partitions where ${hasAged(sql, name, age)}`).length > 0;
}

function hasAged(sql: Sql, name: string, age: string) {
  return sql`name = ${name} and closed_at + ${age}::interval <= (select service_time())`;
}

/** The age that a table's rows may reach, as an interval. */
function keptFor(table: PartitionedTable, retention: Retention): string {
  const isContent = table === "email_contents" || table.startsWith("inbound_");
  return `${isContent ? retention.contentDays : retention.historyDays} days`;
}

/** False: another session holds a lock, and the next housekeeping run tries again; or the clock has jumped back into the partition. */
async function dropOne(sql: Sql, { table, name, startMs }: Partition, age: string): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    try {
      return await sql.begin(async (tx) => {
        await tx.unsafe(`set local lock_timeout = ${lockWaitMs}`);
        // The row is gone if ensurePartitions has reopened the partition. If it does so now, it waits for this transaction.
        if ((await tx`delete from closed_partitions where ${hasAged(tx, name, age)} returning 1`).length === 0)
          return false;
        await tx.unsafe(`drop table ${name}`);
        for (const companion of companionsOf({ table, startMs })) {
          await tx`delete from closed_partitions where name = ${companion.name}`;
          await tx.unsafe(`drop table if exists ${companion.name}`);
        }
        return true;
      });
    } catch (error) {
      if ((error as { code?: string }).code !== "55P03") throw error;
      if (tries === lockTries) return false;
      await delay(betweenTriesMs);
    }
  }
}

/** An email with queued or delayed recipients keeps its row, its recipients and its content, whatever its age. */
async function isNeeded(sql: Sql, { table, name, startMs }: Partition): Promise<boolean> {
  const { from, to } = partitionAt(table, startMs);
  if (table === "emails" || table === "recipients") {
    return (
      (
        await sql`select 1 from recipients where email_id >= ${from} and email_id < ${to} and status in ('queued', 'delayed') limit 1`
      ).length > 0
    );
  }
  if (table === "email_contents") {
    return (
      (
        await sql`select 1 from emails where open > 0 and content_day >= ${from}::date and content_day < ${to}::date limit 1`
      ).length > 0
    );
  }
  if (table === "webhook_deliveries")
    return (await sql.unsafe(`select 1 from ${name} where status = 'queued' limit 1`)).length > 0;
  return false;
}

/** Moves the start of the log past all old partitions that can be dropped, and returns their names. */
async function cutLog(sql: Sql, all: readonly string[], old: readonly string[]): Promise<Set<string>> {
  try {
    const names = await startOfLog(sql, all, old);
    // All before the first drop, because one may have events between those of another. And not in the transaction of a drop: that
    // would lock the event counters of all workspaces while the drop waits for its lock.
    for (const name of names) await moveOldest(sql, name);
    return names;
  } catch (error) {
    // Another node has just dropped one of them. The next run drops what that node leaves.
    if ((error as { code?: string }).code !== "42P01") throw error;
    return new Set();
  }
}

/**
 * The old partitions of events that can be dropped together. The log is dense, so it is cut only at its start: a partition stays while
 * one that stays has earlier events of the same workspace. While the clock was ahead, events went into a partition of a later time, so
 * two partitions may each have earlier events than the other, and only both together are the start of the log.
 */
async function startOfLog(sql: Sql, all: readonly string[], old: readonly string[]): Promise<Set<string>> {
  const earlier = new Map<string, string[]>();
  for (const name of old) earlier.set(name, await withEarlierEvents(sql, name, all));
  const chosen = new Set(old);
  for (let before = -1; before !== chosen.size; ) {
    before = chosen.size;
    for (const name of chosen) if (earlier.get(name)!.some((other) => !chosen.has(other))) chosen.delete(name);
  }
  return chosen;
}

/** The partitions with events before one of this partition's, of the same workspace. The minimum is one read of the primary key. */
async function withEarlierEvents(sql: Sql, name: string, all: readonly string[]): Promise<string[]> {
  const others = all.filter((other) => other !== name);
  if (others.length === 0) return [];
  const hasEarlier = (other: string) => `select '${other}' as name where exists (
    select 1 from spans s where (select min(o.number) from ${other} o where o.workspace_id = s.workspace_id) < s.last)`;
  const rows = await sql.unsafe<{ name: string }[]>(`
    with spans as materialized (select workspace_id, max(number) as last from ${name} group by workspace_id)
    ${others.map(hasEarlier).join(" union all ")}`);
  return rows.map((row) => row.name);
}

/** Moves the lower bound of each workspace's log past the dropped events. A cursor before it is then out of range. */
async function moveOldest(sql: Sql, name: string): Promise<void> {
  await sql.unsafe(`update event_counters c set oldest = greatest(c.oldest, e.last + 1)
    from (select workspace_id, max(number) as last from ${name} group by workspace_id) e where c.workspace_id = e.workspace_id`);
}

const keysPerBatch = 5000;

/** Deletes expired idempotency keys, in batches that keep each statement short. */
export async function dropExpiredKeys(sql: Sql): Promise<number> {
  for (let dropped = 0; ; ) {
    const rows = await sql`
      delete from idempotency where (workspace_id, key) in (
        select workspace_id, key from idempotency where expires_at < (select service_time()) limit ${keysPerBatch}) returning 1`;
    dropped += rows.length;
    if (rows.length < keysPerBatch) return dropped;
  }
}

/** The start of the oldest partition of emails. Statistics are kept as long as the emails that they count. */
export async function oldestEmailsAt(sql: Sql): Promise<Date> {
  const emails = (await listPartitions(sql)).filter(({ table }) => table === "emails");
  return new Date(Math.min(...emails.map(({ startMs }) => startMs)));
}
