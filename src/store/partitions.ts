/** Partitions by time: made ahead of need, at every start and by housekeeping. Dropping one is how old rows leave. */
import { type Blocker, brieflyRun } from "./brief-locks.ts";
import type { Sql } from "./db.ts";
import { firstUuidAt } from "./ids.ts";

const dayMs = 86_400_000;

/** How each growing table is cut: by which key, how many days a partition spans, how many days ahead there must be
 * one, and how full its pages are made: rows that are updated leave room, so that an update stays in place (HOT). */
export const partitioned = {
  emails: { key: "uuid", days: 7, ahead: 7, fill: 85 },
  recipients: { key: "uuid", days: 7, ahead: 7, fill: 80 },
  // Content belongs to the day of its last planned use: a scheduled email's lies up to 30 days ahead.
  email_contents: { key: "date", days: 1, ahead: 40, fill: 100 },
  events: { key: "time", days: 7, ahead: 7, fill: 100 },
  webhook_deliveries: { key: "uuid", days: 7, ahead: 7, fill: 80 },
  inbound_messages: { key: "uuid", days: 7, ahead: 7, fill: 100 },
  inbound_contents: { key: "uuid", days: 7, ahead: 7, fill: 100 },
} as const;

export type PartitionedTable = keyof typeof partitioned;

type Waiting = { onWait?(table: string, blocker: Blocker | undefined): void; stop?: AbortSignal };

/** A new partition needs the parent's exclusive lock: behind a request that waits for it, every insert would queue. */
export async function ensurePartitions(sql: Sql, { onWait, stop }: Waiting = {}): Promise<void> {
  const [row] = await sql<{ nowMs: number }[]>`select (extract(epoch from now()) * 1000)::float8 as "nowMs"`;
  const wanted = (Object.keys(partitioned) as PartitionedTable[]).flatMap((table) =>
    partitionsAround(table, row!.nowMs),
  );
  const there = new Set(
    (await sql<{ name: string }[]>`select relname as name from pg_class where relispartition`).map((r) => r.name),
  );
  for (const partition of wanted.filter((p) => !there.has(p.name))) {
    // Names and bounds are made here from numbers: nothing in them comes from outside. A node that makes the same one at
    // the same moment loses the race with "already exists" (42P07), which is what was wanted.
    const { name, table, from, to, fill } = partition;
    const text = `create table ${name} partition of ${table} for values from ('${from}') to ('${to}') with (fillfactor = ${fill})`;
    await brieflyRun(sql, text, {
      ...{ tables: [table], onWait: (blocker) => onWait?.(table, blocker), stop },
    }).catch((error) => {
      if ((error as { code?: string }).code !== "42P07") throw error;
    });
  }
}

/** The partitions that must exist at this moment: one span back (clocks differ), the current one, and those ahead. */
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
