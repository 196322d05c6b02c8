/** Old rows leave by partition: dropped whole, without a scan, never while anything in it is still needed. */
import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "./db.ts";
import { type PartitionedTable, partitionAt, partitioned } from "./partitions.ts";

const dayMs = 86_400_000;

export type Retention = { contentDays: number; historyDays: number };

/** Which age each table's rows may reach. */
function keptDays(table: PartitionedTable, retention: Retention): number {
  return table === "email_contents" || table.startsWith("inbound_") ? retention.contentDays : retention.historyDays;
}

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

/** Whoever comes while a drop waits for its lock, waits too: so it waits for a moment only, and asks again a little later. */
const lockWaitMs = 50;
const lockTries = 6;
const betweenTriesMs = 250;

/** What a drop leaves to do, plans made anew in every session and blocks given back to the disk, is over before the next. */
const betweenDropsMs = 250;

async function dropIfFinished(sql: Sql, table: PartitionedTable, name: string, startMs: number): Promise<boolean> {
  if (await isNeeded(sql, table, name, startMs)) return false;
  // Before the drop, and not in one transaction with it: that would hold the counters of everybody's events while it waits for its lock.
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
      // Left for the next round.
      if (tries === lockTries) return false;
      await delay(betweenTriesMs);
    }
  }
}

/** An email that somebody still waits for keeps its own row, its recipients and its content, whatever its age. */
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

/** The log's bounds move with it: a cursor before the oldest kept event is out of range from now on. */
async function moveOldest(sql: Sql, name: string): Promise<void> {
  await sql.unsafe(`update event_counters c set oldest = greatest(c.oldest, e.last + 1)
    from (select workspace_id, max(number) as last from ${name} group by workspace_id) e where c.workspace_id = e.workspace_id`);
}

function startOf(table: PartitionedTable, name: string): number | undefined {
  const match = new RegExp(`^${table}_p(\\d{4})(\\d{2})(\\d{2})$`).exec(name);
  return match ? Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3])) : undefined;
}

const keysAtOnce = 5000;

/** Keys past their day; some at a time, so that no statement is long, until all are gone. */
export async function dropExpiredKeys(sql: Sql): Promise<number> {
  for (let dropped = 0; ; ) {
    const rows = await sql`
      delete from idempotency where (workspace_id, key) in (
        select workspace_id, key from idempotency where expires_at < now() limit ${keysAtOnce}) returning 1`;
    dropped += rows.length;
    if (rows.length < keysAtOnce) return dropped;
  }
}
