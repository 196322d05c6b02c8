/** Finds the mail servers of a domain (RFC 5321 §5.1) and the addresses of each. Called by send.ts and by delivery. */
import net from "node:net";
import { canonicalName, type Lookup } from "../../dns/record.ts";
import type { Evidence, UnroutableReason } from "./evidence.ts";

/** The part of the DNS resolver that routing uses. `lookup` throws only when its signal aborts. */
export interface MxResolver {
  lookup<T extends "MX" | "A" | "AAAA">(name: string, type: T, options?: { signal?: AbortSignal }): Promise<Lookup<T>>;
}

export interface RouteDeps {
  resolver: MxResolver;
  /** Returns a number in [0, 1), for the order of hosts with equal preference. */
  random: () => number;
  /** False for private and reserved addresses, which a recipient domain's DNS must not make us connect to. */
  allowAddress: (ip: string) => boolean;
}

export interface MxHost {
  host: string;
  preference: number;
}

export const routeLimits = { hosts: 10, addresses: 6 } as const;

/** The hosts to try, best first. A domain literal (`[192.0.2.1]`) is its own host. */
export async function findHosts(
  domain: string,
  deps: RouteDeps,
  signal?: AbortSignal,
): Promise<{ hosts: MxHost[] } | { failure: Evidence }> {
  const literal = readLiteral(domain);
  if (literal === "") return unroutable("bad-domain", `${domain} is not a valid address literal`);
  if (literal) return { hosts: [{ host: literal, preference: 0 }] };

  const answer = await lookUp(deps.resolver, domain, "MX", signal);
  if (answer.kind !== "found") return withoutMx(domain, answer.kind);

  const named = answer.records.map((record) => ({ host: canonicalName(record.exchange), preference: record.priority }));
  const hosts = named.filter(({ host }) => host !== "" && net.isIP(host) === 0);
  if (hosts.length === 0) {
    // RFC 7505 §3: a root label as the only exchange means that the domain accepts no mail.
    if (named.every(({ host }) => host === "")) return unroutable("null-mx", `${domain} accepts no mail (null MX)`);
    return unroutable("no-address", `the MX records of ${domain} name no host`);
  }
  const ordered = shuffle(distinct(hosts), deps.random).sort((a, b) => a.preference - b.preference);
  return { hosts: ordered.slice(0, routeLimits.hosts) };
}

function withoutMx(domain: string, kind: "aborted" | Exclude<Lookup["kind"], "found">) {
  switch (kind) {
    case "aborted":
      return { failure: abortedLookup };
    case "timeout":
      return unroutable("dns-timeout", `the DNS lookup of the MX records of ${domain} timed out`);
    case "servfail":
      return unroutable("servfail", `the DNS lookup of the MX records of ${domain} failed (SERVFAIL)`);
    case "nxdomain":
      return unroutable("nxdomain", `the domain ${domain} does not exist`);
    case "nodata":
      // RFC 5321 §5.1: without any MX the domain itself is the only host, with preference 0.
      return { hosts: [{ host: domain, preference: 0 }] };
  }
}

/** The addresses of one host in the order to try. IPv6 and IPv4 alternate, so that a missing family costs one attempt. */
export async function findAddresses(
  host: string,
  deps: RouteDeps,
  signal?: AbortSignal,
): Promise<{ addresses: string[] } | { failure: Evidence }> {
  const fixed = net.isIP(host) ? [host] : isLocalhost(host) ? ["::1", "127.0.0.1"] : undefined;
  const found = fixed
    ? { v6: fixed.filter(net.isIPv6), v4: fixed.filter(net.isIPv4) }
    : await lookUpAddresses(host, deps, signal);
  if ("failure" in found) return found;
  const all = interleave(shuffle(found.v6, deps.random), shuffle(found.v4, deps.random));
  const allowed = all.filter(deps.allowAddress);
  if (allowed.length === 0) {
    // The tenant reads this text, so it does not contain the address: it may come from the operator's internal DNS.
    const what = fixed ? "is" : "resolves to";
    return unroutable("address-refused", `${host} ${what} an address that is not public; mail is not sent there`);
  }
  return { addresses: allowed.slice(0, routeLimits.addresses) };
}

type Families = { v6: string[]; v4: string[] };

async function lookUpAddresses(
  host: string,
  deps: RouteDeps,
  signal?: AbortSignal,
): Promise<Families | { failure: Evidence }> {
  const [aaaa, a] = await Promise.all([
    lookUp(deps.resolver, host, "AAAA", signal),
    lookUp(deps.resolver, host, "A", signal),
  ]);
  if (aaaa.kind === "aborted" || a.kind === "aborted") return { failure: abortedLookup };
  const v6 = aaaa.kind === "found" ? aaaa.records.map((record) => record.address) : [];
  const v4 = a.kind === "found" ? a.records.map((record) => record.address) : [];
  if (v6.length > 0 || v4.length > 0) return { v6, v4 };
  const kinds = [aaaa.kind, a.kind];
  // A family whose lookup failed may contain the address: the host has no address only if both lookups found none.
  if (kinds.includes("timeout")) return unroutable("dns-timeout", `the DNS lookup of the address of ${host} timed out`);
  if (kinds.includes("servfail"))
    return unroutable("servfail", `the DNS lookup of the address of ${host} failed (SERVFAIL)`);
  return unroutable("no-address", `the host ${host} has no address`);
}

/** Looks up one record type; an aborted signal is a value here, not an error. */
async function lookUp<T extends "MX" | "A" | "AAAA">(
  resolver: MxResolver,
  name: string,
  type: T,
  signal?: AbortSignal,
): Promise<Lookup<T> | { kind: "aborted" }> {
  try {
    return await resolver.lookup(name, type, signal ? { signal } : {});
  } catch (error) {
    if (signal?.aborted) return { kind: "aborted" };
    throw error;
  }
}

/** The address in a domain literal (RFC 5321 §4.1.3); empty for an invalid literal, undefined for a domain name. */
function readLiteral(domain: string): string | undefined {
  if (!domain.startsWith("[")) return undefined;
  const inner = /^\[(?:ipv6:([0-9a-f:.]+)|([0-9.]+))\]$/i.exec(domain);
  const address = inner?.[1] ?? inner?.[2] ?? "";
  return net.isIP(address) === (inner?.[1] ? 6 : 4) ? address : "";
}

// RFC 6761 §6.3: localhost is never looked up. Only a relay may use it; for MX hosts the address guard rejects it.
function isLocalhost(host: string): boolean {
  return canonicalName(host) === "localhost";
}

function distinct(hosts: readonly MxHost[]): MxHost[] {
  const best = new Map<string, MxHost>();
  for (const host of hosts) {
    const known = best.get(host.host);
    if (!known || host.preference < known.preference) best.set(host.host, host);
  }
  return [...best.values()];
}

function shuffle<T>(list: readonly T[], random: () => number): T[] {
  const result = [...list];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

function interleave(first: readonly string[], second: readonly string[]): string[] {
  const longest = Math.max(first.length, second.length);
  return Array.from({ length: longest }, (_, i) => [first[i], second[i]])
    .flat()
    .filter((address) => address !== undefined);
}

function unroutable(reason: UnroutableReason, message: string): { failure: Evidence } {
  return { failure: { kind: "unroutable", reason, message } };
}

const abortedLookup: Evidence = { kind: "aborted", phase: "connect", message: "aborted by Posthorn" };
