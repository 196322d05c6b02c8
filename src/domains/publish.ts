/** Local mode: a registered domain's records served by our own DNS, as its provider would serve them. */
import { isReserved, publishedRecords, reservedOrigins } from "../dns/local-zones.ts";
import { isWithin } from "../mail/dns-record.ts";
import { askedRecords } from "../rules/dns-records.ts";
import { Problem } from "../rules/problem.ts";
import type { Sql } from "../store/db.ts";
import { publishZone } from "../store/published-zones.ts";

export type Publishable = { workspaceId: string; id: string; domain: string; token: string; mailFromLabel: string };

/** Only names that no public DNS answers for: anybody else's would be a forgery. */
export function isPublishable(domain: string, zone: string): boolean {
  return isReserved(domain) && !isWithin(domain, zone);
}

/** The operator may `takeOver` what another workspace published; people and keys may not. */
export async function publish(
  sql: Sql,
  row: Publishable,
  { zone, takeOver }: { zone: string; takeOver: boolean },
): Promise<{ records: number; replaced: boolean }> {
  if (!isPublishable(row.domain, zone)) {
    const names = reservedOrigins.map((origin) => (origin.includes(".") ? origin : `.${origin}`));
    throw new Problem(
      "failed_precondition",
      `${row.domain} is not a reserved name. Only ${names.join(", ")} are served from here; publish the records of any other domain at its DNS provider.`,
    );
  }
  const records = publishedRecords(askedRecords({ ...row, zone }));
  const published = await publishZone(
    sql,
    { origin: row.domain, workspaceId: row.workspaceId, domainId: row.id, records },
    { takeOver },
  );
  if (!published)
    throw new Problem(
      "failed_precondition",
      `The local DNS serves ${row.domain} for another workspace. Choose another name; the operator can change it with: posthorn dns publish ${row.domain}`,
    );
  return { records: records.length, replaced: published.replaced };
}
