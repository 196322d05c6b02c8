/** Counts what a piece of work reads from tables, so that a test can say that it does not grow with what waits. */
import type { Sql } from "../../src/store/db.ts";

/** `tables` is a regular expression over their names, partitions included. */
export async function countRowsRead<T>(
  sql: Sql,
  tables: string,
  work: (sql: Sql) => Promise<T>,
): Promise<{ result: T; rows: number }> {
  return await sql.begin(async (tx) => {
    // What this session read before may still be waiting to be reported, and is counted with it.
    const before = await rowsSoFar(tx, tables);
    const result = await work(tx);
    return { result, rows: (await rowsSoFar(tx, tables)) - before };
  });
}

async function rowsSoFar(sql: Sql, tables: string): Promise<number> {
  const [row] = await sql<{ rows: number }[]>`
    select coalesce(sum(coalesce(seq_tup_read, 0)) + sum(coalesce(idx_tup_fetch, 0)), 0)::int as rows
    from pg_stat_xact_user_tables where relname ~ ${tables}`;
  return row!.rows;
}
