/**
 * The zone of this service (`POSTHORN_ZONE`): its records come from the settings and from the DKIM keys of all domains.
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

export type ServiceZone = {
  zone: string;
  /** The HELO name. It gets its own records if it is in the zone. */
  hostname: string;
  publicIps: readonly string[];
  serial: number;
  /** Default: ns1 in the zone. */
  nameServers?: readonly string[];
};

/** `dkimKey` returns the public key (base64 SPKI) for a label under `dkim.<zone>`, or undefined. */
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
  const hosts = new Set([inbound, `feedback.${zone}`, `bounce.${zone}`]);
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
const maxCachedKeys = 10_000;

/** Looks up DKIM keys for the DNS server. Keys are cached for a minute, and used longer while the database is unavailable. */
export function createServedKeys(deps: {
  sql: Sql;
  /** A monotonic clock. */
  nowMs?: () => number;
}): (label: string) => Promise<string | undefined> {
  const { nowMs = () => performance.now() } = deps;
  const load = createLoader<string, string | undefined>((labels) => findServedKeys(deps.sql, labels));
  const cache = new Map<string, { key: string; untilMs: number }>();

  return async (label) => {
    const cached = cache.get(label);
    if (cached && cached.untilMs > nowMs()) return cached.key;
    try {
      const key = await load(label);
      cache.delete(label);
      // A missing key is not cached: any client may query any label, and a new domain must be served at once.
      if (key !== undefined) cache.set(label, { key, untilMs: nowMs() + cacheMs });
      for (const oldest of cache.keys()) {
        if (cache.size <= maxCachedKeys) break;
        cache.delete(oldest);
      }
      return key;
    } catch (error) {
      if (cached) return cached.key;
      throw error;
    }
  };
}
