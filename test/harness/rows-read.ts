/** Counts the rows that some work reads, so that a test can assert that this number does not grow with the backlog. */
import type { Sql } from "../../src/postgres/pool.ts";

/** `tables` is a regular expression that matches table names, including those of partitions. */
export async function countRowsRead<T>(
  sql: Sql,
  tables: string,
  work: (sql: Sql) => Promise<T>,
): Promise<{ result: T; rows: number }> {
  return await sql.begin(async (tx) => {
    // The session's earlier reads may not be reported yet, so they are subtracted.
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
