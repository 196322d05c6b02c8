/**
 * Backfills: work on existing rows after a migration, in small batches that commit together with their position. Housekeeping runs
 * them (src/app/backfills.ts). A kill at any time loses at most one batch, which the next run repeats.
 */
import type { Sql } from "./pool.ts";
import { isAlive } from "./workers.ts";

export type Backfill = {
  /** Must not be reused for another backfill. */
  name: string;
  /** The schema version that added the column. Programs below it write rows that the backfill must visit. */
  since: number;
  /**
   * Works on at most `limit` rows after `position` and returns the next position, or null at the end. Must be safe to repeat:
   * fill in only missing values. Order by an index and keep a batch under 100 ms, because its row locks last until its commit.
   */
  batch(tx: Sql, position: string | null, limit: number): Promise<{ position: string | null; rows: number }>;
};

export type BackfillState = {
  name: string;
  rows: number;
  /** Nodes with an older program, which still write rows that the backfill must visit. */
  waitsFor: OlderNode[];
};
export type OlderNode = { host: string; pid: number; schemaVersion: number };

export type BackfillResult =
  | { kind: "worked"; rows: number; total: number }
  | { kind: "finished"; rows: number; total: number }
  | { kind: "waits"; nodes: OlderNode[] }
  /** Another node is running a batch of it. */
  | { kind: "busy" }
  | { kind: "nothing" };

/** The first key of the advisory lock; no other lock of ours may use it. */
const lockSpace = 0x706f7376;

/** Runs one batch and stores its position in the same transaction. An advisory lock of the transaction allows one node at a time. */
export async function runBatch(sql: Sql, backfill: Backfill, limit: number): Promise<BackfillResult> {
  const { name, since } = backfill;
  return await sql.begin(async (tx) => {
    const [lock] = await tx<{ taken: boolean }[]>`
      select pg_try_advisory_xact_lock(${lockSpace}::int, hashtext(${name})) as taken`;
    if (!lock!.taken) return { kind: "busy" };
    const nodes = await olderNodes(tx, since);
    if (nodes.length > 0) {
      await reopenBackfills(tx, since - 1);
      return { kind: "waits", nodes };
    }
    await tx`insert into backfills (name, since) values (${name}, ${since}) on conflict (name) do nothing`;
    const [row] = await tx<{ position: string | null; finished: boolean }[]>`
      select position, finished_at is not null as finished from backfills where name = ${name}`;
    if (row!.finished) return { kind: "nothing" };
    const { position, rows } = await backfill.batch(tx, row!.position, limit);
    const [after] = await tx<{ total: number }[]>`
      update backfills set position = ${position}, rows = rows + ${rows}, updated_at = now(),
        finished_at = case when ${position}::text is null then now() end
      where name = ${name} returning rows::float8 as total`;
    return { kind: position === null ? "finished" : "worked", rows, total: after!.total };
  });
}

/** Called by a program that is older than the schema: the rows it writes lack the values of newer backfills, so these run again. */
export async function reopenBackfills(sql: Sql, known: number): Promise<void> {
  await sql`update backfills set position = null, finished_at = null, updated_at = now()
    where since > ${known} and (position is not null or finished_at is not null)`;
}

async function olderNodes(sql: Sql, since: number): Promise<OlderNode[]> {
  return await sql<OlderNode[]>`
    select host, pid, coalesce(schema_version, 1) as "schemaVersion" from workers
    where coalesce(schema_version, 1) < ${since} and ${isAlive(sql)} order by host, pid`;
}

/** Unfinished backfills of this program, and unfinished ones that a newer program began. */
export async function outstandingBackfills(sql: Sql, registered: readonly Backfill[]): Promise<BackfillState[]> {
  const rows = await sql<{ name: string; since: number; rows: number; finished: boolean }[]>`
    select name, since, rows::float8 as rows, finished_at is not null as finished from backfills order by since, name`;
  const known = new Map(rows.map((row) => [row.name, row]));
  for (const { name, since } of registered)
    if (!known.has(name)) known.set(name, { name, since, rows: 0, finished: false });
  return await Promise.all(
    [...known.values()]
      .filter((row) => !row.finished)
      .map(async ({ name, since, rows: done }) => ({ name, rows: done, waitsFor: await olderNodes(sql, since) })),
  );
}
