/** Local mode: a registered domain's records served by our own DNS, as its provider would serve them. */
import { isReserved, publishedRecords, reservedOrigins } from "../dns/local-zones.ts";
import { isWithin } from "../mail/dns-record.ts";
import { askedRecords } from "../rules/dns-records.ts";
import { Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { publishZone } from "../store/published-zones.ts";

export type Publishable = { workspaceId: string; id: string; domain: string; token: string; mailFromLabel: string };

/** Only names that no public DNS answers for: anybody else's would be a forgery. */
export async function publish(
  sql: Sql,
  row: Publishable,
  zone: string,
): Promise<{ records: number; replaced: boolean }> {
  if (!isReserved(row.domain) || isWithin(row.domain, zone)) {
    const names = reservedOrigins.map((origin) => (origin.includes(".") ? origin : `.${origin}`));
    throw new Problem(
      "failed_precondition",
      `${row.domain} is not a reserved name. Only ${names.join(", ")} are served from here; publish the records of any other domain at its DNS provider.`,
    );
  }
  const records = publishedRecords(askedRecords({ ...row, zone }));
  const { replaced } = await publishZone(sql, {
    origin: row.domain,
    workspaceId: row.workspaceId,
    domainId: row.id,
    records,
  });
  return { records: records.length, replaced };
}
