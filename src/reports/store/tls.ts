/** Reads the counts of TLS reports for ReportService. */
import type { Sql } from "../../postgres/pool.ts";
import type { TlsCounts } from "../rules/counts.ts";
import type { DaySpan } from "../rules/span.ts";
import { type DomainKey, startMs, within } from "./dmarc.ts";

export type TlsDay = TlsCounts & { dayMs: number; authenticated: boolean };

/** Days that are not empty. Primary key. */
export async function tlsByDay(sql: Sql, domain: DomainKey, span: DaySpan): Promise<TlsDay[]> {
  return await sql<TlsDay[]>`
    select ${startMs(sql, sql`day`)} as "dayMs", authenticated, succeeded, failed from tls_counts where ${within(sql, domain, span)}`;
}

export type TlsFailure = {
  resultType: string;
  policyType: string;
  organization: string;
  sendingIp: string;
  receivingMx: string;
  authenticated: boolean;
  sessions: number;
  lastMs: number;
};

/** The most frequent first; authenticated ones come before the others, so that a stranger's reports cannot hide them. Primary key. */
export async function tlsFailures(
  sql: Sql,
  domain: DomainKey,
  span: DaySpan & { limit: number },
): Promise<TlsFailure[]> {
  return await sql<TlsFailure[]>`
    select result_type as "resultType", policy_type as "policyType", organization, sending_ip as "sendingIp", receiving_mx as "receivingMx",
      authenticated, sum(sessions) as sessions, ${startMs(sql, sql`max(day)`)} as "lastMs"
    from tls_failures where ${within(sql, domain, span)}
    group by result_type, policy_type, organization, sending_ip, receiving_mx, authenticated
    order by authenticated desc, sum(sessions) desc, result_type, organization, sending_ip, receiving_mx, policy_type limit ${span.limit}`;
}
