/** A record of AddDomain's answer as a DNS server holds it. Used by posthorn demo. */
import { textRecord } from "../../dns/zone.ts";
import type { ResourceRecord } from "../../mail/dns-record.ts";

export type WireRecord = { type: string; name: string; value: string; priority?: number };

export function resourceRecord({ type, name, value, priority = 10 }: WireRecord): ResourceRecord {
  const ttl = 60;
  if (type === "TXT") return { ...textRecord(name, value), ttl };
  if (type === "MX") return { name, ttl, type, priority, exchange: value };
  return { name, ttl, type: "CNAME", target: value };
}
