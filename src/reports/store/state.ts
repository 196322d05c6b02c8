/** What posthorn doctor shows about reports: a domain that receivers may report about, and when the last report arrived. */
import { listReported } from "../../domains/store/report-names.ts";
import type { Sql } from "../../postgres/pool.ts";

/** Index domains_proved, and reports_old for the newest report. */
export async function readReportState(sql: Sql): Promise<{ domain: string | undefined; lastAt: Date | undefined }> {
  const [domain] = await listReported(sql, 1);
  const [last] = await sql<{ at: Date }[]>`select received_at as at from reports order by stored_at desc limit 1`;
  return { domain, lastAt: last?.at };
}
