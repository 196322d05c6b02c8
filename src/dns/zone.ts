/** Zones that the DNS server answers for, built from lists of records. domains/service-zone.ts builds the service's own zone. */
import { canonicalName, isAtOrBelow, type RecordOf, type ResourceRecord } from "./record.ts";

export type Zone = {
  origin: string;
  soa: RecordOf<"SOA">;
  /** All records of a name in canonical form: empty if the name exists without records, undefined if it does not exist. */
  find(name: string): Promise<readonly ResourceRecord[] | undefined> | readonly ResourceRecord[] | undefined;
};

/** Finds the zone that contains a name: the longest match if there are several. */
export type ZoneFinder = (name: string) => Promise<Zone | undefined> | Zone | undefined;

/** The TTL of our records, in seconds. */
export const ttl = 3600;
const negativeTtl = 60;

/** Builds a zone from a list of records, and adds the SOA and NS records if the list has none. */
export function recordsZone(input: {
  origin: string;
  records: readonly ResourceRecord[];
  serial: number;
  nameServers: readonly string[];
}): Zone {
  const origin = canonicalName(input.origin);
  const own = input.records.find((record): record is RecordOf<"SOA"> => record.type === "SOA");
  const soa: RecordOf<"SOA"> = own ?? {
    name: origin,
    ttl,
    type: "SOA",
    mname: input.nameServers[0] ?? origin,
    rname: `hostmaster.${origin}`,
    serial: input.serial,
    refresh: 3600,
    retry: 600,
    expire: 1_209_600,
    minimum: negativeTtl,
  };
  const records = [...input.records];
  if (!own) records.push(soa);
  if (!records.some((record) => record.type === "NS" && canonicalName(record.name) === origin)) {
    for (const target of input.nameServers) records.push({ name: origin, ttl, type: "NS", target });
  }
  const byName = new Map<string, ResourceRecord[]>();
  for (const record of records) {
    const name = canonicalName(record.name);
    if (!isAtOrBelow(name, origin)) throw new Error(`${record.name} is not in the zone ${origin}`);
    byName.set(name, [...(byName.get(name) ?? []), record]);
    // RFC 8020: the names between a record and the zone's origin exist too.
    for (let above = name; above !== origin; above = above.slice(above.indexOf(".") + 1)) {
      if (!byName.has(above)) byName.set(above, []);
    }
  }
  return { origin, soa, find: (name) => byName.get(name) };
}

/** A finder over a fixed list of zones. */
export function zoneList(zones: readonly Zone[]): ZoneFinder {
  const longestFirst = zones.toSorted((a, b) => b.origin.length - a.origin.length);
  return (name) => longestFirst.find((zone) => isAtOrBelow(name, zone.origin));
}

/** RFC 1035 §3.3: a string holds at most 255 bytes, so a longer text is split into several. */
export function textRecord(name: string, text: string): RecordOf<"TXT"> {
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  return { name, ttl, type: "TXT", strings: bytes.match(/.{1,255}/gs) ?? [""] };
}
