/** Writes our zone as a master file (RFC 1035 §5), for an operator who serves it from other DNS servers. Called by the CLI. */

import { canonicalName, type ResourceRecord } from "../dns/record.ts";
import { recordsZone } from "../dns/zone.ts";
import { dkimRecord, nameServersOf, reportRecord, type ServiceZone, serviceRecords } from "./service-zone.ts";

export type ZoneFileNames = {
  keys: readonly { label: string; publicKey: string }[];
  /** Domains whose DMARC reports may be sent to us. */
  reported: readonly string[];
};

/** RFC 1035 §2.3.4. A server refuses a zone with a longer name as a whole, and a domain may have almost as many characters. */
const maxName = 253;

export function zoneFile(input: ServiceZone, { keys, reported }: ZoneFileNames): string {
  const origin = canonicalName(input.zone);
  const nameServers = nameServersOf(input);
  const { soa } = recordsZone({ origin, records: [], serial: input.serial, nameServers });
  const records: ResourceRecord[] = [
    soa,
    ...nameServers.map((target): ResourceRecord => ({ name: origin, ttl: soa.ttl, type: "NS", target })),
    ...serviceRecords(input),
    ...keys.map(({ label, publicKey }) => dkimRecord(origin, label, publicKey)),
    ...reported.map((domain) => reportRecord(origin, domain)).filter(({ name }) => name.length <= maxName),
  ];
  return `$ORIGIN ${origin}.\n$TTL ${soa.ttl}\n${records.map(zoneFileLine).join("")}`;
}

/** Returns one line with absolute names, so that it means the same under any $ORIGIN. */
export function zoneFileLine(record: ResourceRecord): string {
  return `${record.name}.\t${record.ttl}\tIN\t${record.type}\t${dataOf(record)}\n`;
}

function dataOf(record: ResourceRecord): string {
  switch (record.type) {
    case "A":
    case "AAAA":
      return record.address;
    case "CNAME":
    case "NS":
    case "PTR":
      return `${record.target}.`;
    case "MX":
      return `${record.priority} ${record.exchange}.`;
    case "TXT":
      return record.strings.map(quote).join(" ");
    case "HINFO":
      return `${quote(record.cpu)} ${quote(record.os)}`;
    case "SOA":
      return `${record.mname}. ${record.rname}. ${record.serial} ${record.refresh} ${record.retry} ${record.expire} ${record.minimum}`;
    case "TLSA":
      return `${record.usage} ${record.selector} ${record.matching} ${Buffer.from(record.data).toString("hex")}`;
    case "OTHER": {
      // RFC 3597 §5
      const data = Buffer.from(record.data).toString("hex");
      return `\\# ${record.data.length} ${data}`;
    }
  }
}

function quote(text: string): string {
  const escaped = text
    .replace(/["\\]/g, "\\$&")
    .replace(/[^ -~]/g, (c) => `\\${c.charCodeAt(0).toString().padStart(3, "0")}`);
  return `"${escaped}"`;
}
