/** Deletes reports and counts that are past their retention, and those of deleted domains. By service time, in batches that keep each statement
 * short. Called by housekeeping. */
import type { Sql } from "../../postgres/pool.ts";

const tables = ["reports", "dmarc_counts", "tls_counts", "tls_failures"] as const;
const batch = 5000;

export async function forgetReports(sql: Sql, days: number): Promise<number> {
  let deleted = 0;
  for (const table of tables) {
    const name = sql.unsafe(table);
    // The indexes by stored_at.
    deleted += await inBatches(
      () => sql`
        delete from ${name} where ctid = any(array(
          select ctid from ${name} where stored_at < (select service_time()) - ${days} * interval '1 day' limit ${batch})) returning 1`,
    );
    // Primary keys, by the deleted domains.
    deleted += await inBatches(
      () => sql`
        delete from ${name} where ctid = any(array(
          select t.ctid from domains d cross join lateral (
            select ctid from ${name} t where t.workspace_id = d.workspace_id and t.domain_id = d.id limit ${batch}) t
          where d.deleted_at is not null limit ${batch})) returning 1`,
    );
  }
  // Only the current day counts.
  await inBatches(
    () => sql`
      delete from report_limits where ctid = any(array(
        select ctid from report_limits where day < ((select service_time()) at time zone 'utc')::date - 1 limit ${batch})) returning 1`,
  );
  return deleted;
}

async function inBatches(statement: () => PromiseLike<readonly unknown[]>): Promise<number> {
  for (let deleted = 0; ; ) {
    const rows = await statement();
    deleted += rows.length;
    if (rows.length < batch) return deleted;
  }
}
