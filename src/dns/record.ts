/** The types of resource records and lookup results, and comparisons of names. Used by the resolver, the DNS server and mail/. */

interface Owned {
  /** Presentation form without the trailing dot; the root is "". */
  name: string;
  ttl: number;
}

export type ResourceRecord = Owned &
  (
    | { type: "A" | "AAAA"; address: string }
    | { type: "CNAME" | "NS" | "PTR"; target: string }
    | { type: "MX"; priority: number; exchange: string }
    /** One character per byte (latin1), so that no byte is lost. `showText` makes it readable. */
    | { type: "TXT"; strings: string[] }
    | ({ type: "SOA" } & Soa)
    | { type: "HINFO"; cpu: string; os: string }
    | { type: "TLSA"; usage: number; selector: number; matching: number; data: Uint8Array }
    | { type: "OTHER"; typeCode: number; data: Uint8Array }
  );

export interface Soa {
  mname: string;
  rname: string;
  serial: number;
  refresh: number;
  retry: number;
  expire: number;
  minimum: number;
}

export type RecordOf<T extends ResourceRecord["type"]> = ResourceRecord & { type: T };

export const lookupTypes = ["A", "AAAA", "CNAME", "MX", "NS", "PTR", "SOA", "TLSA", "TXT"] as const;
export type LookupType = (typeof lookupTypes)[number];

/**
 * `chain` lists the CNAME targets that were followed. `zone` is the owner of the SOA in a negative answer.
 * `secure`: a validating resolver proved the whole answer by DNSSEC. Other resolvers never set it.
 * `servfail` stands for every unusable answer; `reason` distinguishes them.
 */
export type Lookup<T extends LookupType = LookupType> =
  | { kind: "found"; records: RecordOf<T>[]; chain: string[]; ttlSeconds: number; secure?: true }
  | { kind: "nxdomain" | "nodata"; chain: string[]; zone?: string; ttlSeconds: number; secure?: true }
  | { kind: "servfail"; reason: ServfailReason }
  | { kind: "timeout" };

export type ServfailReason =
  | "servfail"
  | "refused"
  | "malformed"
  | "lame"
  | "unreachable"
  | "cname-loop"
  | "blocked"
  | "no-edns";

/** Looks up records; the source may be a recursive resolver, an authoritative server or a file. DNS failures are results, not errors. */
export type LookupFunction = <T extends LookupType>(name: string, type: T) => Promise<Lookup<T>>;

/** The zone that holds a name's records, and the hosts of its NS records. */
export type ZoneCut = { zone: string; hosts: string[] };

/** The value of a TXT record. RFC 7208 §3.3, RFC 6376 §3.6.2.2: its strings are joined without spaces. */
export function joinText(record: { strings: string[] }): string {
  return record.strings.join("");
}

/** A TXT value for display: decoded as UTF-8, with visible control characters and at most `limit` characters. */
export function showText(value: string, limit = 1000): string {
  const text = Buffer.from(value, "latin1").toString("utf8");
  const visible = text.replace(/[\u0000-\u001f\u007f]/g, (c) => `\\${c.charCodeAt(0).toString().padStart(3, "0")}`);
  const characters = Array.from(visible);
  return characters.length > limit ? characters.slice(0, limit - 1).join("") + "…" : visible;
}

/** Compares DNS names without regard to ASCII case and a trailing dot. */
export function sameName(a: string, b: string): boolean {
  return canonicalName(a) === canonicalName(b);
}

/** Lower-cases ASCII only (RFC 4343 §3) and drops the trailing dot. */
export function canonicalName(name: string): string {
  return name.replace(/(?<!\\)\.$/, "").replace(/[A-Z]/g, (c) => c.toLowerCase());
}

/** True if `name` is `ancestor` or below it. */
export function isAtOrBelow(name: string, ancestor: string): boolean {
  const child = canonicalName(name);
  const parent = canonicalName(ancestor);
  return parent === "" || child === parent || child.endsWith(`.${parent}`);
}
