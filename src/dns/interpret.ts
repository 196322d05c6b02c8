/** Interprets a server's message as the answer to one question. Called by resolver.ts and authoritative.ts. */
import { type DnsMessage, rcodes } from "./message.ts";
import {
  isAtOrBelow,
  type LookupType,
  type RecordOf,
  type ResourceRecord,
  type ServfailReason,
  sameName,
} from "./record.ts";

/** The most CNAME records that a lookup follows. */
export const maxChain = 8;

export type Interpretation<T extends LookupType> =
  | { kind: "found"; records: RecordOf<T>[]; chain: string[]; ttlSeconds: number }
  | { kind: "nxdomain" | "nodata"; chain: string[]; zone?: string; ttlSeconds: number }
  /** The message ends at an alias and has no records of its target. */
  | { kind: "alias"; chain: string[]; ttlSeconds: number }
  /** The server delegates to the servers of another zone. */
  | { kind: "referral"; zone: string; servers: string[] }
  | { kind: "servfail"; reason: ServfailReason };

export function interpret<T extends LookupType>(message: DnsMessage, name: string, type: T): Interpretation<T> {
  const { rcode } = message;
  if (rcode === rcodes.REFUSED) return { kind: "servfail", reason: "refused" };
  if (rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN) return { kind: "servfail", reason: "servfail" };

  const chain: string[] = [];
  let owner = name;
  let ttlSeconds = Number.POSITIVE_INFINITY;
  for (;;) {
    const records = message.answers.filter(
      (record) => record.type === type && sameName(record.name, owner),
    ) as RecordOf<T>[];
    if (records.length > 0) {
      for (const { ttl } of records) ttlSeconds = Math.min(ttlSeconds, ttl);
      return { kind: "found", records, chain, ttlSeconds };
    }
    const alias = type === "CNAME" ? undefined : message.answers.find(isAliasOf(owner));
    if (alias === undefined) break;
    if (chain.length >= maxChain || [name, ...chain].some((seen) => sameName(seen, alias.target))) {
      return { kind: "servfail", reason: "cname-loop" };
    }
    ttlSeconds = Math.min(ttlSeconds, alias.ttl);
    chain.push(alias.target);
    owner = alias.target;
  }
  return negative(message, { owner, chain, ttlSeconds });
}

function negative(
  message: DnsMessage,
  { owner, chain, ttlSeconds }: { owner: string; chain: string[]; ttlSeconds: number },
): Exclude<Interpretation<LookupType>, { kind: "found" }> {
  const kind = message.rcode === rcodes.NXDOMAIN ? "nxdomain" : "nodata";
  const soa = message.authorities.find(
    (record): record is RecordOf<"SOA"> => record.type === "SOA" && isAtOrBelow(owner, record.name),
  );
  if (soa) {
    // RFC 2308 §5: the TTL of a negative answer is the smaller of the SOA's TTL and its minimum.
    return { kind, chain, zone: soa.name, ttlSeconds: Math.min(ttlSeconds, soa.ttl, soa.minimum) };
  }
  if (kind === "nodata" && chain.length > 0) return { kind: "alias", chain, ttlSeconds };
  const delegation = message.authorities.filter(
    (record): record is RecordOf<"NS"> => record.type === "NS" && isAtOrBelow(owner, record.name),
  );
  const [first] = delegation;
  // RFC 2308 §2.2: NS records without an SOA, in an answer that is not authoritative, are a referral rather than NODATA.
  if (kind === "nodata" && first && !message.authoritative) {
    return { kind: "referral", zone: first.name, servers: delegation.map((record) => record.target) };
  }
  return { kind, chain, ttlSeconds: 0 };
}

function isAliasOf(owner: string): (record: ResourceRecord) => record is RecordOf<"CNAME"> {
  return (record): record is RecordOf<"CNAME"> => record.type === "CNAME" && sameName(record.name, owner);
}
