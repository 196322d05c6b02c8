/** Finds the mail servers of a domain (RFC 5321 §5.1) and the addresses of each. Called by send.ts and by delivery. */
import net from "node:net";
import { canonicalName, type Lookup } from "../../dns/record.ts";
import type { Evidence, UnroutableReason } from "./evidence.ts";

/** The part of the DNS resolver that routing uses. `lookup` throws only when its signal aborts. */
export interface MxResolver {
  lookup<T extends RouteType>(name: string, type: T, options?: RouteLookupOptions): Promise<Lookup<T>>;
}

type RouteType = "MX" | "A" | "AAAA" | "CNAME" | "TLSA";
type RouteLookupOptions = { signal?: AbortSignal; bypassCache?: boolean };

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

/** The hosts of a domain. `secure`: DANE may apply to them, because DNSSEC proves the MX records, or the domain has none (RFC 7672
 * §2.2.1). `names`: the domain and the name that it is an alias of. */
export type MxRoute = { hosts: MxHost[]; secure: boolean; names: string[] };

/** The addresses of a host. `target`: the end of its alias chain. */
export type HostAddresses = { addresses: string[]; secure: boolean; target: string | undefined };

export const routeLimits = { hosts: 10, addresses: 6 } as const;

/** The hosts to try, best first. A domain literal (`[192.0.2.1]`) is its own host. */
export async function findHosts(
  domain: string,
  deps: RouteDeps,
  signal?: AbortSignal,
): Promise<MxRoute | { failure: Evidence }> {
  const literal = readLiteral(domain);
  if (literal === "") return unroutable("bad-domain", `${domain} is not a valid address literal`);
  if (literal) return { hosts: [{ host: literal, preference: 0 }], secure: false, names: [] };

  const answer = await lookUp(deps.resolver, domain, "MX", { signal });
  if (answer.kind !== "found") return withoutMx(domain, answer);

  const named = answer.records.map((record) => ({ host: canonicalName(record.exchange), preference: record.priority }));
  const hosts = named.filter(({ host }) => host !== "" && net.isIP(host) === 0);
  if (hosts.length === 0) {
    // RFC 7505 §3: a root label as the only exchange means that the domain accepts no mail.
    if (named.every(({ host }) => host === "")) return unroutable("null-mx", `${domain} accepts no mail (null MX)`);
    return unroutable("no-address", `the MX records of ${domain} name no host`);
  }
  const ordered = shuffle(distinct(hosts), deps.random).sort((a, b) => a.preference - b.preference);
  const names = [domain, ...answer.chain.slice(-1).map(canonicalName)];
  return { hosts: ordered.slice(0, routeLimits.hosts), secure: answer.secure === true, names };
}

function withoutMx(domain: string, answer: Exclude<RouteLookup<"MX">, { kind: "found" }>) {
  switch (answer.kind) {
    case "aborted":
      return { failure: answer.evidence };
    case "timeout":
    case "servfail":
      return { failure: { ...failedLookup(`the MX records of ${domain}`, answer).failure, mxFailed: true as const } };
    case "nxdomain":
      return unroutable("nxdomain", `the domain ${domain} does not exist`);
    case "nodata":
      // RFC 5321 §5.1: without any MX the domain itself is the only host, with preference 0.
      return { hosts: [{ host: domain, preference: 0 }], secure: true, names: [domain] };
  }
}

/** The addresses of one host in the order to try. IPv6 and IPv4 alternate, so that a missing family costs one attempt. */
export async function findAddresses(
  host: string,
  deps: RouteDeps,
  signal?: AbortSignal,
): Promise<HostAddresses | { failure: Evidence }> {
  const fixed = net.isIP(host) ? [host] : isLocalhost(host) ? ["::1", "127.0.0.1"] : undefined;
  const found = fixed
    ? { v6: fixed.filter(net.isIPv6), v4: fixed.filter(net.isIPv4), secure: false, target: undefined }
    : await lookUpAddresses(host, deps, signal);
  if ("failure" in found) return found;
  const all = interleave(shuffle(found.v6, deps.random), shuffle(found.v4, deps.random));
  const allowed = all.filter(deps.allowAddress);
  if (allowed.length === 0) {
    // The tenant reads this text, so it does not contain the address: it may come from the operator's internal DNS.
    const what = fixed ? "is" : "resolves to";
    return unroutable("address-refused", `${host} ${what} an address that is not public; mail is not sent there`);
  }
  return { addresses: allowed.slice(0, routeLimits.addresses), secure: found.secure, target: found.target };
}

type Families = Pick<HostAddresses, "secure" | "target"> & { v6: string[]; v4: string[] };

async function lookUpAddresses(
  host: string,
  deps: RouteDeps,
  signal?: AbortSignal,
): Promise<Families | { failure: Evidence }> {
  const [aaaa, a] = await Promise.all([
    lookUp(deps.resolver, host, "AAAA", { signal }),
    lookUp(deps.resolver, host, "A", { signal }),
  ]);
  if (aaaa.kind === "aborted") return { failure: aaaa.evidence };
  if (a.kind === "aborted") return { failure: a.evidence };
  const v6 = aaaa.kind === "found" ? aaaa.records.map((record) => record.address) : [];
  const v4 = a.kind === "found" ? a.records.map((record) => record.address) : [];
  if (v6.length > 0 || v4.length > 0) return { v6, v4, ...securityOf([aaaa, a]) };
  // A family whose lookup failed may contain the address: the host has no address only if both lookups found none.
  const failures = [aaaa, a].filter((answer) => answer.kind === "timeout" || answer.kind === "servfail");
  const failure = failures.find(({ kind }) => kind === "timeout") ?? failures[0];
  if (failure) return failedLookup(`the address of ${host}`, failure);
  return unroutable("no-address", `the host ${host} has no address`);
}

/** The answers with addresses must all be secure. An absent family does not count: zones may leave its absence unproven (RFC 5155 §6). */
function securityOf(answers: readonly Lookup[]): Pick<HostAddresses, "secure" | "target"> {
  const found = answers.filter((answer) => answer.kind === "found");
  const target = found.map(({ chain }) => chain.at(-1)).find((name) => name !== undefined);
  return { secure: found.every(({ secure }) => secure), target: target && canonicalName(target) };
}

type RouteLookup<T extends RouteType> = Lookup<T> | { kind: "aborted"; evidence: Evidence };

/** Looks up one record type; an aborted signal is a value here, not an error. */
export async function lookUp<T extends RouteType>(
  resolver: MxResolver,
  name: string,
  type: T,
  options: RouteLookupOptions,
): Promise<RouteLookup<T>> {
  try {
    return await resolver.lookup(name, type, options);
  } catch (error) {
    if (options.signal?.aborted) return { kind: "aborted", evidence: abortedLookup };
    throw error;
  }
}

type FailedLookup = Extract<Lookup, { kind: "servfail" | "timeout" }>;

/** Says how a lookup failed: "the lookup of X …". */
export function describeFailure(answer: FailedLookup): string {
  if (answer.kind === "timeout") return "timed out";
  if (answer.reason === "unreachable") return "failed (no DNS resolver is reachable)";
  if (answer.reason === "no-edns")
    return "failed (the DNS resolver does not support EDNS with the DO flag, which DNSSEC needs)";
  return "failed (SERVFAIL)";
}

function failedLookup(what: string, answer: FailedLookup): { failure: Unroutable } {
  const reason = answer.kind === "timeout" ? "dns-timeout" : "servfail";
  return unroutable(reason, `the DNS lookup of ${what} ${describeFailure(answer)}`);
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

type Unroutable = Extract<Evidence, { kind: "unroutable" }>;

function unroutable(reason: UnroutableReason, message: string): { failure: Unroutable } {
  return { failure: { kind: "unroutable", reason, message } };
}

const abortedLookup: Evidence = { kind: "aborted", phase: "connect", message: "aborted by Posthorn" };
