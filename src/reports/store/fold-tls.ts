/** Adds a TLS report to the counts of its domain. Called by fold.ts, in its transaction. */
import type { TlsFailureRow, TlsReport } from "../../mail/reports/tls-report.ts";
import type { Sql } from "../../postgres/pool.ts";
import { knownResult } from "../rules/tls-results.ts";
import type { ReportedDomain } from "./domains.ts";

type FoldTls = { domain: ReportedDomain; report: TlsReport; isAuthenticated: boolean; left: number };

/** Returns the number of rows that were added. */
export async function foldTls(tx: Sql, { domain, report, isAuthenticated, left }: FoldTls): Promise<number> {
  const day = new Date(report.beginMs).toISOString().slice(0, 10);
  await tx`
    insert into tls_counts as c (workspace_id, domain_id, day, authenticated, succeeded, failed, stored_at)
    select ${domain.workspaceId}::uuid, ${domain.id}::uuid, ${day}::date, ${isAuthenticated}::boolean, ${report.succeeded}::float8, ${report.failed}::float8, service_time()
    on conflict (workspace_id, domain_id, day, authenticated) do update set succeeded = c.succeeded + excluded.succeeded,
      failed = c.failed + excluded.failed, stored_at = excluded.stored_at`;
  const known = report.failures.map((row) => ({ ...row, resultType: knownResult(row.resultType) }));
  const rows = foldRows(known, left);
  const added = await tx<{ added: boolean }[]>`
    insert into tls_failures as f (workspace_id, domain_id, day, authenticated, result_type, policy_type, organization, sending_ip,
      receiving_mx, sessions, stored_at)
    select ${domain.workspaceId}::uuid, ${domain.id}::uuid, ${day}::date, ${isAuthenticated}::boolean, r."resultType", r."policyType",
      case when r.isother then '' else ${report.organization} end, r."sendingIp", r."receivingMx", r.sessions, (select service_time())
    from json_to_recordset((${JSON.stringify(rows)}::text)::json)
      as r("resultType" text, "policyType" text, "sendingIp" text, "receivingMx" text, sessions float8, isother boolean)
    on conflict (workspace_id, domain_id, day, authenticated, result_type, policy_type, organization, sending_ip, receiving_mx)
      do update set sessions = f.sessions + excluded.sessions, stored_at = excluded.stored_at
    returning (f.xmax = 0) as added`;
  return added.filter((row) => row.added).length;
}

type FoldedRow = TlsFailureRow & { isother: boolean };

/** One row for each kind of failure. Those past the limit keep their type only. */
export function foldRows(failures: readonly TlsFailureRow[], left: number): FoldedRow[] {
  const rows = new Map<string, FoldedRow>();
  const add = (row: FoldedRow) => {
    const key = JSON.stringify([row.resultType, row.policyType, row.sendingIp, row.receivingMx, row.isother]);
    const known = rows.get(key);
    if (known) known.sessions += row.sessions;
    else rows.set(key, row);
  };
  for (const failure of failures) add({ ...failure, isother: false });
  const all = [...rows.values()].sort((a, b) => b.sessions - a.sessions);
  rows.clear();
  for (const row of all.slice(0, left)) add(row);
  for (const row of all.slice(left)) add({ ...row, policyType: "", sendingIp: "", receivingMx: "", isother: true });
  return [...rows.values()];
}
