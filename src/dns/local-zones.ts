/** What local mode serves beside our own zone: customers' records under reserved names, published without any provider. */
import { canonicalName, isWithin, type ResourceRecord } from "../mail/dns-record.ts";
import type { AskedRecord } from "../rules/dns-records.ts";
import { recordsZone, textRecord, type Zone, type ZoneFinder, zoneList } from "./zone.ts";

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
  return reservedOrigins.some((origin) => isWithin(name, origin));
}

export type PublishedZone = { origin: string; records: readonly ResourceRecord[] };

/**
 * Our zone first, then what was published, then the reserved names as empty zones, so that an unpublished domain is
 * absent rather than refused. `published` gets a name with all its parents, the closest first, and gives the closest known.
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
    if (isWithin(name, service.origin)) return service;
    if (!isReserved(name)) return undefined;
    const zone = await published(withParents(name));
    return zone ? recordsZone({ ...zone, serial, nameServers }) : empty(name);
  };
}

/** The asked records as a provider would hold them. */
export function publishedRecords(asked: readonly AskedRecord[]): ResourceRecord[] {
  const ttl = 60;
  return asked.map(({ name, type, value, priority = 10 }): ResourceRecord => {
    if (type === "TXT") return { ...textRecord(name, value), ttl };
    return type === "MX" ? { name, ttl, type, priority, exchange: value } : { name, ttl, type, target: value };
  });
}

function withParents(name: string): string[] {
  const labels = canonicalName(name).split(".");
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join("."));
}
