/**
 * Capture mode: our own DNS serves the records of domains with reserved names, as a DNS provider would. DomainService,
 * the CLI and example.ts publish records; app/assemble/domains.ts gives `localZones` to the DNS server.
 */
import { canonicalName, isAtOrBelow, type ResourceRecord } from "../dns/record.ts";
import { recordsZone, textRecord, type Zone, type ZoneFinder, zoneList } from "../dns/zone.ts";
import { Problem } from "../ops/problem.ts";
import type { Sql } from "../postgres/pool.ts";
import { type ExpectedRecord, expectedRecords, importedKeyRecord } from "./rules/records.ts";
import { listImportedKeys } from "./store/imported-keys.ts";
import { publishZone } from "./store/published-zones.ts";

export type Publishable = { workspaceId: string; id: string; domain: string; token: string; mailFromLabel: string };

/** RFC 2606 and RFC 6761 §6: names that no public server answers for. */
export const reservedOrigins = [
  "test",
  "example",
  "invalid",
  "localhost",
  "example.com",
  "example.net",
  "example.org",
] as const;

export function isReserved(name: string): boolean {
  return reservedOrigins.some((origin) => isAtOrBelow(name, origin));
}

/** Only reserved names: serving any other domain would forge its owner's DNS. */
export function isPublishable(domain: string, zone: string): boolean {
  return isReserved(domain) && !isAtOrBelow(domain, zone);
}

/** With `takeOver`, the records replace those of another workspace. Only the operator may do that, not API callers. */
export async function publish(
  sql: Sql,
  row: Publishable,
  { zone, takeOver }: { zone: string; takeOver: boolean },
): Promise<{ records: number; replaced: boolean }> {
  if (!isPublishable(row.domain, zone)) {
    const names = reservedOrigins.map((origin) => (origin.includes(".") ? origin : `.${origin}`));
    throw new Problem(
      "failed_precondition",
      `${row.domain} is not a reserved name. The local DNS serves only names under ${names.join(", ")}; publish the records of any other domain at its DNS provider.`,
    );
  }
  const keys = await listImportedKeys(sql, row.workspaceId, row.id);
  const records = publishedRecords([
    ...expectedRecords({ ...row, zone, canReceive: true }),
    ...keys.map((key) => importedKeyRecord(row, key)),
  ]);
  const published = await publishZone(
    sql,
    { origin: row.domain, workspaceId: row.workspaceId, domainId: row.id, records },
    { takeOver },
  );
  if (!published)
    throw new Problem(
      "failed_precondition",
      `The local DNS serves ${row.domain} for another workspace. Choose another name, or ask the operator to reassign it with: posthorn dns publish ${row.domain}`,
    );
  return { records: records.length, replaced: published.replaced };
}

export type PublishedZone = { origin: string; records: readonly ResourceRecord[] };

/**
 * Searches our own zone first, then the published zones, then an empty zone for each reserved name, so that the answer
 * for an unpublished domain is NXDOMAIN and not REFUSED. `published` receives a name and all its parents, closest first,
 * and returns the closest zone that exists.
 */
export function localZones(deps: {
  service: Zone;
  published: (origins: string[]) => Promise<PublishedZone | undefined>;
  serial: number;
  nameServers: readonly string[];
}): ZoneFinder {
  const { service, published, serial, nameServers } = deps;
  const empty = zoneList(reservedOrigins.map((origin) => recordsZone({ origin, records: [], serial, nameServers })));
  return async (name) => {
    if (isAtOrBelow(name, service.origin)) return service;
    if (!isReserved(name)) return undefined;
    const zone = await published(withParents(name));
    return zone ? recordsZone({ ...zone, serial, nameServers }) : empty(name);
  };
}

/** The expected records as a DNS provider would serve them. */
export function publishedRecords(expected: readonly ExpectedRecord[]): ResourceRecord[] {
  const ttl = 60;
  return expected.map(({ name, type, value, priority = 10 }): ResourceRecord => {
    if (type === "TXT") return { ...textRecord(name, value), ttl };
    return type === "MX" ? { name, ttl, type, priority, exchange: value } : { name, ttl, type, target: value };
  });
}

function withParents(name: string): string[] {
  const labels = canonicalName(name).split(".");
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join("."));
}
