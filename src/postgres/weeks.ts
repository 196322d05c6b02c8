/**
 * Statements on the partitions of one week. Ids contain their time, so a statement that gets ids can name the partition of their rows. Through
 * the parent table it would prepare and search the partitions of all weeks, because sessions do not prune: docs/decisions/0015 and 0065.
 */
import { uuidTime } from "./ids.ts";
import { type PartitionedTable, partitioned, partitionOf, startOf } from "./partitions.ts";
import type { Sql } from "./pool.ts";

/** The name of a table in a statement: its partition of one week, or the parent of all weeks. */
export type Tables = (table: PartitionedTable) => ReturnType<Sql["unsafe"]>;

/** The partitions of emails and of everything with ids of the same time. Weeks begin at multiples of it. */
export const weekMs = partitioned.emails.days * 86_400_000;

/** The start of a week; undefined: all weeks. */
export type Week = number | undefined;

export function weekOf(id: string): number {
  return weekAt(uuidTime(id));
}

export function weekAt(ms: number): number {
  return Math.floor(ms / weekMs) * weekMs;
}

/** The weeks for which emails have partitions, in order. Undefined if a partition has another name than this program gives it. */
export async function listWeeks(sql: Sql): Promise<number[] | undefined> {
  const rows = await sql<{ name: string }[]>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass(${"recipients"}::text) order by 1`;
  const weeks = rows.map(({ name }) => startOf("recipients", name));
  return weeks.includes(undefined) ? undefined : (weeks as number[]);
}

/** In the order of their weeks, so that all callers take their locks in the same order. */
export function byWeek<T>(items: readonly T[], idOf: (item: T) => string): [week: number, items: T[]][] {
  return [...Map.groupBy(items, (item) => weekOf(idOf(item)))].sort(([a], [b]) => a - b);
}

export function tablesOf(sql: Sql, week: Week): Tables {
  return (table) => sql.unsafe(week === undefined ? table : partitionOf(table, week).name);
}

/**
 * Runs a statement on the partitions of a week, or on the parents if retention has dropped them. `week` comes from the id of a stored row:
 * with ids from outside, the server would prepare any number of texts. In a transaction a failure must be undone, hence `inTransaction`.
 */
export async function inWeek<T>(
  sql: Sql,
  week: Week,
  statement: (sql: Sql, tables: Tables) => PromiseLike<T>,
  { inTransaction = false } = {},
): Promise<T> {
  const run = (at: Week) => async (own: Sql) => await statement(own, tablesOf(own, at));
  if (week === undefined) return await run(undefined)(sql);
  try {
    return await (inTransaction ? sql.begin(run(week)) : run(week)(sql));
  } catch (error) {
    if (!isMissingTable(error)) throw error;
    return await run(undefined)(sql);
  }
}

/**
 * A lateral subquery with at most one row by the primary key of a weekly table: `columns` where `condition`. It searches the week of `tables`
 * first, and only without a match the weeks before and after it.
 */
export function oneRow(
  sql: Sql,
  {
    tables,
    table,
    columns,
    condition,
  }: { tables: Tables; table: PartitionedTable; columns: Fragment; condition: Fragment },
): Fragment {
  return sql`
    select * from (
      (select ${columns} from ${tables(table)} where ${condition}) union all (select ${columns} from ${sql.unsafe(table)} where ${condition})
    ) found limit 1`;
}

type Fragment = ReturnType<Sql>;

export function isMissingTable(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "42P01";
}
