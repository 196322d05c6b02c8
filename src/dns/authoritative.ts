/** Queries a domain's authoritative DNS servers, so that the domain check can distinguish a missing record from one that
 * recursive resolvers do not return yet. */
import { exchange } from "./exchange.ts";
import { interpret } from "./interpret.ts";
import { typeCodes } from "./message.ts";
import { isPublicSuffix } from "./name.ts";
import { canonicalName, isAtOrBelow, type Lookup, type LookupType, type ZoneCut } from "./record.ts";
import type { Resolver } from "./resolver.ts";
import type { ServerAddress } from "./servers.ts";

export type AuthoritativeOptions = {
  resolver: Resolver;
  /** Checked before each query: the tenant chooses the names of these servers, and so their addresses. */
  allowAddress: (ip: string) => boolean;
  /** Known servers of a name (our own, in local mode). They are used without a lookup and without `allowAddress`. */
  knownServers?: (name: string) => readonly ServerAddress[] | undefined;
  queryTimeoutMs?: number;
  /** The port of the tenants' servers. Only tests change it. */
  port?: number;
};

export type ZoneServers = { zone: string; servers: readonly ServerAddress[] };

export type Authoritative = {
  /** The zone that contains the name. Undefined: DNS does not answer, or the name has no zone below a public suffix. */
  findZone(name: string, signal?: AbortSignal): Promise<ZoneCut | undefined>;
  /** The servers of the zone that contains the name; undefined if there are none or none may be queried. */
  findServers(name: string, signal?: AbortSignal): Promise<ZoneServers | undefined>;
  /** Found if any server has the record, absent if every server that answers reports it absent, otherwise a failure. */
  ask<T extends LookupType>(from: ZoneServers, name: string, type: T, signal?: AbortSignal): Promise<Lookup<T>>;
};

const maxServers = 3;
const maxReferrals = 3;

export function createAuthoritative(options: AuthoritativeOptions): Authoritative {
  const { resolver, allowAddress, queryTimeoutMs = 1500, port = 53 } = options;
  const never = new AbortController().signal;

  return {
    findZone: (name, signal) => findZoneCut(canonicalName(name), signal),
    findServers,
    ask: ({ servers }, name, type, signal) => askAll(servers, name, type, { signal: signal ?? never, referrals: 0 }),
  };

  async function findServers(name: string, signal?: AbortSignal): Promise<ZoneServers | undefined> {
    const known = options.knownServers?.(name);
    if (known) return { zone: canonicalName(name), servers: known };
    const cut = await findZoneCut(canonicalName(name), signal);
    if (cut === undefined) return undefined;
    const servers = await addressesOf(cut.hosts, signal);
    return servers.length === 0 ? undefined : { zone: cut.zone, servers };
  }

  /** Walks up from the name to the first one with an SOA or NS records. Stops before a public suffix, which no tenant owns. */
  async function findZoneCut(name: string, signal?: AbortSignal): Promise<ZoneCut | undefined> {
    let zone = name;
    while (!isPublicSuffix(zone)) {
      const [soa, ns] = await Promise.all([
        resolver.lookup(zone, "SOA", { signal }),
        resolver.lookup(zone, "NS", { signal }),
      ]);
      const hosts =
        ns.kind === "found" && ns.chain.length === 0 ? ns.records.map(({ target }) => canonicalName(target)) : [];
      // An alias leads to the SOA of another zone.
      if (hosts.length > 0 || (soa.kind === "found" && soa.chain.length === 0)) return { zone, hosts };
      if (ns.kind === "servfail" || ns.kind === "timeout") return undefined;
      const parent = zone.slice(zone.indexOf(".") + 1);
      // The SOA of a negative answer names the enclosing zone, which saves the lookups in between.
      const soaZone = ns.kind === "found" || ns.chain.length > 0 ? undefined : ns.zone;
      zone = soaZone !== undefined && isAtOrBelow(parent, soaZone) && soaZone !== "" ? canonicalName(soaZone) : parent;
    }
    return undefined;
  }

  /** One allowed address per host, IPv4 preferred, for at most `maxServers` hosts. */
  async function addressesOf(hosts: readonly string[], signal?: AbortSignal): Promise<ServerAddress[]> {
    const addresses = await Promise.all(
      hosts.slice(0, 2 * maxServers).map(async (host) => {
        const [v4, v6] = await Promise.all([
          resolver.lookup(host, "A", { signal }),
          resolver.lookup(host, "AAAA", { signal }),
        ]);
        const all = [v4, v6].flatMap((found) =>
          found.kind === "found" ? found.records.map((one) => one.address) : [],
        );
        return all.find(allowAddress);
      }),
    );
    const usable = new Set(addresses.filter((address) => address !== undefined));
    return [...usable].slice(0, maxServers).map((host) => ({ host, port }));
  }

  async function askAll<T extends LookupType>(
    servers: readonly ServerAddress[],
    name: string,
    type: T,
    context: QueryContext,
  ): Promise<Lookup<T>> {
    const answers = await Promise.all(servers.map((server) => askServer(server, name, type, context)));
    return (
      answers.find((answer) => answer.kind === "found") ??
      answers.find((answer) => answer.kind === "nxdomain" || answer.kind === "nodata") ??
      answers.find((answer) => answer.kind === "servfail") ?? { kind: "timeout" }
    );
  }

  async function askServer<T extends LookupType>(
    server: ServerAddress,
    name: string,
    type: T,
    context: QueryContext,
  ): Promise<Lookup<T>> {
    const { signal, referrals } = context;
    const typeCode = typeCodes[type];
    const result = await exchange({ server, name, typeCode, recursion: false, timeoutMs: queryTimeoutMs, signal });
    if (result.kind === "timeout") return result;
    if (result.kind !== "reply") return { kind: "servfail", reason: result.kind };
    const answer = interpret(result.reply, name, type);
    if (answer.kind === "servfail") return answer;
    if (answer.kind === "referral") {
      return followReferral(answer.servers, name, type, { signal, referrals: referrals + 1 });
    }
    // RFC 2181 §5.4.1: only an authoritative answer counts as data of the domain.
    if (!result.reply.authoritative) return { kind: "servfail", reason: "lame" };
    if (answer.kind !== "alias") return answer;
    // The alias points outside this server's zones, so the recursive resolver looks up its target.
    const rest = await resolver.lookup(answer.chain.at(-1) ?? "", type, { signal, bypassCache: true });
    return "chain" in rest ? { ...rest, chain: [...answer.chain, ...rest.chain] } : rest;
  }

  async function followReferral<T extends LookupType>(
    hosts: readonly string[],
    name: string,
    type: T,
    context: QueryContext,
  ): Promise<Lookup<T>> {
    if (context.referrals > maxReferrals) return { kind: "servfail", reason: "lame" };
    const servers = await addressesOf(hosts, context.signal);
    if (servers.length === 0) return { kind: "servfail", reason: "blocked" };
    return askAll(servers, name, type, context);
  }
}

type QueryContext = { signal: AbortSignal; referrals: number };
