/**
 * Partitions by time. Every start and housekeeping create those of the coming days; housekeeping drops those past retention, which
 * deletes old rows without a scan. Also deletes expired idempotency keys.
 */

import { setTimeout as delay } from "node:timers/promises";
import { type Blocker, runWithBriefLocks } from "./brief-locks.ts";
import { firstUuidAt } from "./ids.ts";
import type { Sql } from "./pool.ts";

const dayMs = 86_400_000;

/**
 * How each growing table is partitioned: the type of its key, the days per partition, the days for which partitions exist ahead,
 * and the fill factor. Tables with updates leave free space in each page, so that updates are HOT.
 */
export const partitioned = {
  emails: { key: "uuid", days: 7, ahead: 7, fill: 85 },
  recipients: { key: "uuid", days: 7, ahead: 7, fill: 80 },
  // The key is the day of the last planned use, which for a scheduled email is up to 30 days ahead.
  email_contents: { key: "date", days: 1, ahead: 40, fill: 100 },
  events: { key: "time", days: 7, ahead: 7, fill: 100 },
  webhook_deliveries: { key: "uuid", days: 7, ahead: 7, fill: 80 },
  inbound_messages: { key: "uuid", days: 7, ahead: 7, fill: 100 },
  inbound_contents: { key: "uuid", days: 7, ahead: 7, fill: 100 },
} as const;

export type PartitionedTable = keyof typeof partitioned;

type EnsureOptions = { onWait?(table: string, blocker: Blocker | undefined): void; stop?: AbortSignal };

/**
 * Creates the partitions around the database's clock, and then lets ids and events use that time (the function stamp_time). Every start,
 * housekeeping and, after a jump of the clock, the heartbeat call it.
 */
export async function ensurePartitions(sql: Sql, options: EnsureOptions = {}): Promise<void> {
  const [row] = await sql<{ wallMs: number }[]>`select (extract(epoch from wall_time()) * 1000)::float8 as "wallMs"`;
  await createPartitions(sql, row!.wallMs, options);
  await sql`update service_clock set partitions_at = ${new Date(row!.wallMs)}`;
}

/**
 * Creates missing partitions. This needs an exclusive lock on the parent, and every insert would queue behind a waiting lock request,
 * so the lock wait is brief.
 */
export async function createPartitions(sql: Sql, nowMs: number, { onWait, stop }: EnsureOptions = {}): Promise<void> {
  const required = (Object.keys(partitioned) as PartitionedTable[]).flatMap((table) => partitionsAround(table, nowMs));
  const existing = new Set(
    (await sql<{ name: string }[]>`select relname as name from pg_class where relispartition`).map((r) => r.name),
  );
  for (const partition of required.filter((p) => !existing.has(p.name))) {
    // Names and bounds are computed from numbers here, so the text contains no outside input. When another node creates the same
    // partition first, this fails with "already exists" (42P07), which is fine.
    const { name, table, from, to, fill } = partition;
    const text = `create table ${name} partition of ${table} for values from ('${from}') to ('${to}') with (fillfactor = ${fill})`;
    await runWithBriefLocks(sql, text, {
      tables: [table],
      onWait: (blocker) => onWait?.(table, blocker),
      stop,
    }).catch((error) => {
      if ((error as { code?: string }).code !== "42P07") throw error;
    });
  }
}

/** The partitions that must exist at this time: the previous one (clocks differ), the current one, and those ahead. */
export function partitionsAround(table: PartitionedTable, nowMs: number) {
  const { days, ahead } = partitioned[table];
  const span = days * dayMs;
  const first = Math.floor(nowMs / span) - 1;
  const count = Math.ceil(ahead / days) + 2;
  return Array.from({ length: count }, (_, i) => partitionAt(table, (first + i) * span));
}

export function partitionAt(table: PartitionedTable, startMs: number) {
  const { key, days, fill } = partitioned[table];
  const endMs = startMs + days * dayMs;
  const name = `${table}_p${new Date(startMs).toISOString().slice(0, 10).replaceAll("-", "")}`;
  return { table, name, fill, startMs, endMs, from: bound(key, startMs), to: bound(key, endMs) };
}

function bound(key: "uuid" | "date" | "time", ms: number): string {
  if (key === "uuid") return firstUuidAt(ms);
  const iso = new Date(ms).toISOString();
  return key === "date" ? iso.slice(0, 10) : iso;
}

export type Retention = { contentDays: number; historyDays: number };

/** A drop that waits for its lock blocks new sessions on the table, so it waits only this long and then retries. */
const lockWaitMs = 50;
const lockTries = 6;
const betweenTriesMs = 250;

/** After a drop every session replans its statements and the file system frees blocks. The pause lets that finish before the next drop. */
const betweenDropsMs = 250;

/** Drops every partition whose rows are all past retention and no longer needed. Returns the names of the dropped partitions. */
export async function dropOldPartitions(sql: Sql, retention: Retention): Promise<string[]> {
  const dropped: string[] = [];
  for (const table of Object.keys(partitioned) as PartitionedTable[]) {
    const partitions = await sql<{ name: string; nowMs: number }[]>`
      select c.relname as name, (extract(epoch from now()) * 1000)::float8 as "nowMs"
      from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
      where p.relname = ${table} and p.relnamespace = 'public'::regnamespace order by c.relname`;
    for (const { name, nowMs } of partitions) {
      const startMs = startOf(table, name);
      if (startMs === undefined || partitionAt(table, startMs).endMs > nowMs - keptDays(table, retention) * dayMs)
        continue;
      if (!(await dropIfFinished(sql, table, name, startMs))) continue;
      dropped.push(name);
      await delay(betweenDropsMs);
    }
  }
  return dropped;
}

/** The age in days that a table's rows may reach. */
function keptDays(table: PartitionedTable, retention: Retention): number {
  return table === "email_contents" || table.startsWith("inbound_") ? retention.contentDays : retention.historyDays;
}

async function dropIfFinished(sql: Sql, table: PartitionedTable, name: string, startMs: number): Promise<boolean> {
  if (await isNeeded(sql, table, name, startMs)) return false;
  // Not in the transaction of the drop: that would lock the event counters of all workspaces while the drop waits for its lock.
  if (table === "events") await moveOldest(sql, name);
  for (let tries = 1; ; tries++) {
    try {
      await sql.begin(async (tx) => {
        await tx.unsafe(`set local lock_timeout = ${lockWaitMs}`);
        await tx.unsafe(`drop table ${name}`);
      });
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== "55P03") throw error;
      // The next housekeeping run tries again.
      if (tries === lockTries) return false;
      await delay(betweenTriesMs);
    }
  }
}

/** An email with queued or delayed recipients keeps its row, its recipients and its content, whatever its age. */
async function isNeeded(sql: Sql, table: PartitionedTable, name: string, startMs: number): Promise<boolean> {
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

/** Moves the lower bound of each workspace's log past the dropped events. A cursor before it is then out of range. */
async function moveOldest(sql: Sql, name: string): Promise<void> {
  await sql.unsafe(`update event_counters c set oldest = greatest(c.oldest, e.last + 1)
    from (select workspace_id, max(number) as last from ${name} group by workspace_id) e where c.workspace_id = e.workspace_id`);
}

function startOf(table: PartitionedTable, name: string): number | undefined {
  const match = new RegExp(`^${table}_p(\\d{4})(\\d{2})(\\d{2})$`).exec(name);
  return match ? Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3])) : undefined;
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
