/**
 * Partitions by time. Every start and every housekeeping run creates the partitions of the coming days. When the database's clock has
 * jumped, a heartbeat creates the partitions of the new time. retention.ts drops old partitions.
 */
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
  email_terms: { key: "uuid", days: 7, ahead: 7, fill: 100 },
  email_message_ids: { key: "uuid", days: 7, ahead: 7, fill: 100 },
  webhook_attempts: { key: "uuid", days: 7, ahead: 7, fill: 100 },
} as const;

export type PartitionedTable = keyof typeof partitioned;

/** Tables whose rows belong to rows of another one with the same partitions. A partition exists as long as that of the other table. */
export const companions: Partial<Record<PartitionedTable, PartitionedTable>> = {
  email_terms: "emails",
  email_message_ids: "emails",
  webhook_attempts: "webhook_deliveries",
};

/** How far the key of a new row may be ahead of the time of its insert: mail is scheduled up to 30 days ahead. */
const keyAheadDays: Partial<Record<PartitionedTable, number>> = { email_contents: 30 };

type EnsureOptions = {
  onWait?(table: string, blocker: Blocker | undefined): void;
  stop?: AbortSignal;
  /** After this time the clock is read again, because it goes on, or jumps, while a session holds a lock. */
  patienceMs?: number;
};

const defaultPatienceMs = 60_000;
/** After so many jumps in one call, a later heartbeat continues. */
const mostJumps = 5;

/**
 * Creates the partitions around the database's clock, and lets ids and events use that time (the function stamp_time). Every start,
 * housekeeping and, after a jump of the clock, the heartbeat call it.
 */
export async function ensurePartitions(sql: Sql, options: EnsureOptions = {}): Promise<void> {
  for (let jumps = 0; jumps < mostJumps; ) {
    const { wallMs } = await readTimes(sql);
    const outcome = await ensureAt(sql, wallMs, options);
    if (outcome === "done") break;
    if (outcome === "jumped") jumps++;
  }
  await closePartitions(sql);
}

/**
 * Ids and events use the new time as soon as the partitions exist that they need, because creating the other ones may wait for a lock.
 * Partitions are reopened before they are looked for, so that retention.ts drops none of them in between.
 */
async function ensureAt(sql: Sql, wallMs: number, options: EnsureOptions): Promise<"done" | "jumped" | "waited"> {
  const { onWait, stop, patienceMs = defaultPatienceMs } = options;
  const patience = AbortSignal.timeout(patienceMs);
  const limits = { onWait, stop: stop ? AbortSignal.any([stop, patience]) : patience };
  await sql`delete from closed_partitions where name = any(${writableAt(await listPartitions(sql), [wallMs])}::text[])`;
  const needed = allAround(wallMs).filter((partition) => isNeededAt(partition, wallMs));
  try {
    await createMissing(sql, needed, limits);
    if (!(await useTime(sql, wallMs))) return "jumped";
    await createPartitions(sql, wallMs, limits);
    return "done";
  } catch (error) {
    if (error !== patience.reason) throw error;
    return "waited";
  }
}

/**
 * True when an insert may need the partition while partitions_at is this time. stamp_time() reaches one day back and ahead; the second
 * day ahead is for the clock of a program, which goes on between two heartbeats.
 */
function isNeededAt({ table, startMs, endMs }: NewPartition, wallMs: number): boolean {
  return endMs > wallMs - dayMs && startMs <= wallMs + (2 + (keyAheadDays[table] ?? 0)) * dayMs;
}

/** False when the clock has jumped since it was read: ids and events must not follow a clock that is already right again. */
async function useTime(sql: Sql, wallMs: number): Promise<boolean> {
  const at = new Date(wallMs);
  const rows = await sql`
    update service_clock set partitions_at = ${at}
    where wall_time() between ${at}::timestamptz - interval '12 hours' and ${at}::timestamptz + interval '12 hours' returning 1`;
  return rows.length > 0;
}

/** Records the service time at which a partition stopped getting rows. By both times, because ids and events may still use the second. */
async function closePartitions(sql: Sql): Promise<void> {
  const { wallMs, partitionsMs } = await readTimes(sql);
  const all = await listPartitions(sql);
  const writable = new Set(writableAt(all, [wallMs, partitionsMs]));
  const closed = all.map(({ name }) => name).filter((name) => !writable.has(name));
  await sql`
    insert into closed_partitions (name, closed_at) select name, (select service_time()) from unnest(${closed}::text[]) as c(name)
    on conflict do nothing`;
  // If a partition of this name is created again, its time starts again.
  await sql`delete from closed_partitions where name <> all(${all.map(({ name }) => name)}::text[])`;
}

export type PartitionTimes = { wallMs: number; partitionsMs: number };

/** Partitions are chosen by wall time: the database's clock, and the time for which partitions were last ensured. */
export async function readTimes(sql: Sql): Promise<PartitionTimes> {
  const [row] = await sql<PartitionTimes[]>`
    select (extract(epoch from wall_time()) * 1000)::float8 as "wallMs", (extract(epoch from partitions_at) * 1000)::float8 as "partitionsMs"
    from service_clock`;
  return row!;
}

export type Partition = { table: PartitionedTable; name: string; startMs: number };

/** By name, and so by time within a table. */
export async function listPartitions(sql: Sql): Promise<Partition[]> {
  const rows = await sql<{ table: PartitionedTable; name: string }[]>`
    select p.relname as table, c.relname as name
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
    where c.relkind = 'r' and p.relname = any(${Object.keys(partitioned)}::text[]) and p.relnamespace = 'public'::regnamespace
    order by c.relname`;
  return rows.flatMap(({ table, name }) => {
    const startMs = startOf(table, name);
    return startMs === undefined ? [] : [{ table, name, startMs }];
  });
}

/** The names of the partitions that get rows at one of these times: their own time, or one so shortly before that they exist already. */
function writableAt(partitions: readonly Partition[], timesMs: readonly number[]): string[] {
  const isWritable = ({ table, startMs }: Partition) => {
    const { days, ahead } = partitioned[table];
    return timesMs.some((ms) => ms >= startMs - (ahead + days) * dayMs && ms < startMs + days * dayMs);
  };
  return partitions.filter(isWritable).map(({ name }) => name);
}

export function startOf(table: PartitionedTable, name: string): number | undefined {
  const match = new RegExp(`^${table}_p(\\d{4})(\\d{2})(\\d{2})$`).exec(name);
  return match ? Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3])) : undefined;
}

/** Creates the missing partitions around this time, and those of companions for all partitions that exist. */
export async function createPartitions(sql: Sql, nowMs: number, options: EnsureOptions = {}): Promise<void> {
  const existing = await listPartitions(sql);
  await createMissing(sql, [...allAround(nowMs), ...existing.flatMap(companionsOf)], options);
}

export function companionsOf({ table, startMs }: Pick<Partition, "table" | "startMs">): NewPartition[] {
  const names = (Object.keys(companions) as PartitionedTable[]).filter((name) => companions[name] === table);
  return names.map((name) => partitionAt(name, startMs));
}

function allAround(nowMs: number): NewPartition[] {
  return (Object.keys(partitioned) as PartitionedTable[]).flatMap((table) => partitionsAround(table, nowMs));
}

type NewPartition = ReturnType<typeof partitionAt>;

/**
 * Creates the missing ones of these partitions. This needs an exclusive lock on the parent, and every insert would queue behind a waiting
 * lock request, so the lock wait is brief.
 */
async function createMissing(
  sql: Sql,
  partitions: readonly NewPartition[],
  { onWait, stop }: EnsureOptions,
): Promise<void> {
  const wanted = new Map(partitions.map((one) => [one.name, one]));
  const existing = new Set(
    (await sql<{ name: string }[]>`select relname as name from pg_class where relispartition or relkind = 'p'`).map(
      ({ name }) => name,
    ),
  );
  // A schema that is migrated up to an earlier version does not have every table.
  const isMissing = ({ name, table }: NewPartition) => existing.has(table) && !existing.has(name);
  for (const partition of [...wanted.values()].filter(isMissing)) {
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

/** The partition that a time belongs to. */
export function partitionOf(table: PartitionedTable, ms: number) {
  const span = partitioned[table].days * dayMs;
  return partitionAt(table, Math.floor(ms / span) * span);
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
