/** Zones that the authority serves: our own, built from the configuration and the DKIM keys, and plain lists of records. */
import ipaddr from "ipaddr.js";
import { dkimKeyText } from "../mail/dkim-record.ts";
import { canonicalName, isWithin, type RecordOf, type ResourceRecord } from "../mail/dns-record.ts";
import { spfInclude } from "../rules/dns-records.ts";

export type Zone = {
  origin: string;
  soa: RecordOf<"SOA">;
  /** All records of a name (canonical form); an empty list: it exists without any; undefined: it does not exist. */
  find(name: string): Promise<readonly ResourceRecord[] | undefined> | readonly ResourceRecord[] | undefined;
};

/** The zone that a name belongs to, the closest one where several enclose it. */
export type ZoneFinder = (name: string) => Promise<Zone | undefined> | Zone | undefined;

export type ServiceZone = {
  zone: string;
  /** Said in HELO; gets records of its own when it lies in the zone. */
  hostname: string;
  publicIps: readonly string[];
  serial: number;
  /** Default: ns1 in the zone. */
  nameServers?: readonly string[];
};

/** Seconds that an answer of ours may be kept. */
export const ttl = 3600;
const negativeTtl = 60;

/** `dkimKey` gives the public key (base64 SPKI) behind a label under `dkim.Z`, or undefined. */
export function serviceZone(
  input: ServiceZone,
  dkimKey: (label: string) => Promise<string | undefined> | string | undefined,
): Zone {
  const fixed = recordsZone({
    origin: input.zone,
    records: serviceRecords(input),
    serial: input.serial,
    nameServers: nameServersOf(input),
  });
  const parent = `dkim.${fixed.origin}`;
  return {
    ...fixed,
    async find(name) {
      if (name === parent) return [];
      if (!name.endsWith(`.${parent}`)) return fixed.find(name);
      const label = name.slice(0, -(parent.length + 1));
      // Only what can be a label of ours costs a look at the keys.
      const key = /^[a-z0-9-]{1,63}$/.test(label) ? await dkimKey(label) : undefined;
      return key === undefined ? undefined : [dkimRecord(input.zone, label, key)];
    },
  };
}

/** A zone from a list; SOA and NS are added where the list has none. */
export function recordsZone(input: {
  origin: string;
  records: readonly ResourceRecord[];
  serial: number;
  nameServers: readonly string[];
}): Zone {
  const origin = canonicalName(input.origin);
  const own = input.records.find((record): record is RecordOf<"SOA"> => record.type === "SOA");
  const soa: RecordOf<"SOA"> = own ?? {
    ...{ name: origin, ttl, type: "SOA", mname: input.nameServers[0] ?? origin, rname: `hostmaster.${origin}` },
    ...{ serial: input.serial, refresh: 3600, retry: 600, expire: 1_209_600, minimum: negativeTtl },
  };
  const records = [...input.records];
  if (!own) records.push(soa);
  if (!records.some((record) => record.type === "NS" && canonicalName(record.name) === origin)) {
    for (const target of input.nameServers) records.push({ name: origin, ttl, type: "NS", target });
  }
  const byName = new Map<string, ResourceRecord[]>();
  for (const record of records) {
    const name = canonicalName(record.name);
    if (!isWithin(name, origin)) throw new Error(`${record.name} is not in the zone ${origin}`);
    byName.set(name, [...(byName.get(name) ?? []), record]);
    // RFC 8020: the names between a record and its zone exist too.
    for (let above = name; above !== origin; above = above.slice(above.indexOf(".") + 1)) {
      if (!byName.has(above)) byName.set(above, []);
    }
  }
  return { origin, soa, find: (name) => byName.get(name) };
}

/** A finder over a fixed list of zones. */
export function zoneList(zones: readonly Zone[]): ZoneFinder {
  const longestFirst = zones.toSorted((a, b) => b.origin.length - a.origin.length);
  return (name) => longestFirst.find((zone) => isWithin(name, zone.origin));
}

/** All records of our own zone but SOA, NS and the DKIM keys. */
export function serviceRecords(input: ServiceZone): ResourceRecord[] {
  const zone = canonicalName(input.zone);
  const inbound = `inbound.${zone}`;
  const hosts = new Set([inbound, `feedback.${zone}`, `bounce.${zone}`]);
  if (isWithin(input.hostname, zone)) hosts.add(canonicalName(input.hostname));
  for (const server of nameServersOf(input)) if (isWithin(server, zone)) hosts.add(canonicalName(server));

  const records: ResourceRecord[] = [];
  for (const name of hosts) {
    for (const ip of input.publicIps) records.push(addressRecord(name, ip));
  }
  // Mail to these names must reach us; RFC 5321 §5.1: the target is a host with addresses, never an alias.
  for (const name of new Set([zone, ...hosts])) {
    if (!nameServersOf(input).includes(name)) records.push({ name, ttl, type: "MX", priority: 10, exchange: inbound });
  }
  records.push(textRecord(spfInclude(zone), spfOfAddresses(input.publicIps)));
  // Names that stand in MAIL FROM or HELO; RFC 7208 §10.1.3 asks a record of every such name.
  for (const name of new Set([
    zone,
    `bounce.${zone}`,
    ...(isWithin(input.hostname, zone) ? [canonicalName(input.hostname)] : []),
  ])) {
    records.push(textRecord(name, `v=spf1 include:${spfInclude(zone)} -all`));
  }
  return records;
}

export function dkimRecord(zone: string, label: string, publicKey: string): RecordOf<"TXT"> {
  return textRecord(`${label}.dkim.${canonicalName(zone)}`, dkimKeyText(publicKey));
}

/** RFC 1035 §3.3: a string holds at most 255 bytes; a longer text becomes several. */
export function textRecord(name: string, text: string): RecordOf<"TXT"> {
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  return { name, ttl, type: "TXT", strings: bytes.match(/.{1,255}/gs) ?? [""] };
}

export function nameServersOf(input: ServiceZone): string[] {
  return (input.nameServers ?? [`ns1.${input.zone}`]).map(canonicalName);
}

function spfOfAddresses(ips: readonly string[]): string {
  const terms = ips.map((ip) => (isV4(ip) ? `ip4:${ip}` : `ip6:${ip}`));
  return ["v=spf1", ...terms, "-all"].join(" ");
}

function addressRecord(name: string, ip: string): ResourceRecord {
  return { name, ttl, type: isV4(ip) ? "A" : "AAAA", address: ip };
}

function isV4(ip: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(ip);
}
