/**
 * The zone of this service (`POSTHORN_ZONE`): its records come from the settings, from the DKIM keys of all domains, and from
 * their names, for DMARC reports.
 * dns/authority.ts serves it, and zone-file.ts writes it to a file.
 */
import ipaddr from "ipaddr.js";
import { canonicalName, isAtOrBelow, type RecordOf, type ResourceRecord } from "../dns/record.ts";
import { recordsZone, textRecord, ttl, type Zone } from "../dns/zone.ts";
import { dkimKeyText } from "../mail/dkim-record.ts";
import { createLoader } from "../postgres/loader.ts";
import type { Sql } from "../postgres/pool.ts";
import { spfInclude } from "./rules/records.ts";
import { findServedKeys } from "./store/dkim-keys.ts";
import { areReported } from "./store/report-names.ts";

export type ServiceZone = {
  zone: string;
  /** The HELO name. It gets its own records if it is in the zone. */
  hostname: string;
  publicIps: readonly string[];
  serial: number;
  /** Default: ns1 in the zone. */
  nameServers?: readonly string[];
};

export type ServedNames = {
  /** The public key (base64 SPKI) for a label under `dkim.<zone>`, or undefined. */
  dkimKey(label: string): Promise<string | undefined> | string | undefined;
  /** Whether receivers may send DMARC reports about this domain to us. */
  isReported(domain: string): Promise<true | undefined> | true | undefined;
};

export function serviceZone(input: ServiceZone, { dkimKey, isReported }: ServedNames): Zone {
  const fixed = recordsZone({
    origin: input.zone,
    records: serviceRecords(input),
    serial: input.serial,
    nameServers: nameServersOf(input),
  });
  const parent = `dkim.${fixed.origin}`;
  const authorizations = reportParent(fixed.origin);
  return {
    ...fixed,
    async find(name) {
      if (name === parent || isAtOrBelow(authorizations, name)) return (await fixed.find(name)) ?? [];
      if (name.endsWith(`.${authorizations}`)) {
        const domain = name.slice(0, -(authorizations.length + 1));
        // Every name here exists, with records or without: `com` is above `example.com`, and RFC 8020 lets resolvers stop at a name
        // that does not exist.
        return isDomainShaped(domain) && (await isReported(domain)) ? [reportRecord(fixed.origin, domain)] : [];
      }
      if (!name.endsWith(`.${parent}`)) return fixed.find(name);
      const label = name.slice(0, -(parent.length + 1));
      // Only a label that could be one of ours costs a database query.
      const key = /^[a-z0-9-]{1,63}$/.test(label) ? await dkimKey(label) : undefined;
      return key === undefined ? undefined : [dkimRecord(input.zone, label, key)];
    },
  };
}

/** All records of the zone except SOA, NS and the DKIM keys. */
export function serviceRecords(input: ServiceZone): ResourceRecord[] {
  const zone = canonicalName(input.zone);
  const inbound = `inbound.${zone}`;
  const hosts = new Set([inbound, `feedback.${zone}`, `bounce.${zone}`, `reports.${zone}`]);
  if (isAtOrBelow(input.hostname, zone)) hosts.add(canonicalName(input.hostname));
  for (const server of nameServersOf(input)) if (isAtOrBelow(server, zone)) hosts.add(canonicalName(server));

  const records: ResourceRecord[] = [];
  for (const name of hosts) {
    for (const ip of input.publicIps) records.push(addressRecord(name, ip));
  }
  // Mail to these names must reach us. RFC 5321 §5.1: the target is a host with addresses, never an alias.
  for (const name of new Set([zone, ...hosts])) {
    if (!nameServersOf(input).includes(name)) records.push({ name, ttl, type: "MX", priority: 10, exchange: inbound });
  }
  records.push(textRecord(spfInclude(zone), spfOfAddresses(input.publicIps)));
  // RFC 7208 §10.1.3: every name used in MAIL FROM or HELO should have an SPF record.
  for (const name of new Set([
    zone,
    `bounce.${zone}`,
    ...(isAtOrBelow(input.hostname, zone) ? [canonicalName(input.hostname)] : []),
  ])) {
    records.push(textRecord(name, `v=spf1 include:${spfInclude(zone)} -all`));
  }
  return records;
}

export function dkimRecord(zone: string, label: string, publicKey: string): RecordOf<"TXT"> {
  return textRecord(`${label}.dkim.${canonicalName(zone)}`, dkimKeyText(publicKey));
}

/** RFC 9990 §4: says that reports about the domain may be sent to `reports.<zone>`. */
export function reportRecord(zone: string, domain: string): RecordOf<"TXT"> {
  return textRecord(`${domain}.${reportParent(canonicalName(zone))}`, "v=DMARC1;");
}

function reportParent(origin: string): string {
  return `_report._dmarc.reports.${origin}`;
}

/** Only a name that could be registered costs a database query. */
function isDomainShaped(name: string): boolean {
  return /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/.test(name);
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

const cacheMs = 60_000;
const maxCached = 10_000;

/** Looks up what the DNS server serves besides fixed records. Answers are cached for a minute, and used longer while the database is
 * unavailable. */
export function createServedNames(deps: {
  sql: Sql;
  /** A monotonic clock. */
  nowMs?: () => number;
}): ServedNames {
  const { sql, nowMs = () => performance.now() } = deps;
  return {
    dkimKey: cached(
      createLoader<string, string | undefined>((labels) => findServedKeys(sql, labels)),
      nowMs,
    ),
    isReported: cached(
      createLoader<string, true | undefined>((names) => areReported(sql, names)),
      nowMs,
    ),
  };
}

function cached<Value>(
  load: (name: string) => Promise<Value | undefined>,
  nowMs: () => number,
): (name: string) => Promise<Value | undefined> {
  const known = new Map<string, { value: Value; untilMs: number }>();
  return async (name) => {
    const entry = known.get(name);
    if (entry && entry.untilMs > nowMs()) return entry.value;
    try {
      const value = await load(name);
      known.delete(name);
      // A missing name is not cached: any client may query any name, and a new domain must be served at once.
      if (value !== undefined) known.set(name, { value, untilMs: nowMs() + cacheMs });
      for (const oldest of known.keys()) {
        if (known.size <= maxCached) break;
        known.delete(oldest);
      }
      return value;
    } catch (error) {
      if (entry) return entry.value;
      throw error;
    }
  };
}
