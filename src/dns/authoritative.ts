/** Asks a domain's own DNS servers, to tell a record that is absent from one that resolvers do not show yet. */
import { canonicalName, isWithin, type Lookup, type LookupType } from "../mail/dns-record.ts";
import { exchange } from "./exchange.ts";
import { interpret } from "./interpret.ts";
import { typeCodes } from "./message.ts";
import type { Resolver } from "./resolver.ts";
import type { ServerAddress } from "./servers.ts";

export type AuthoritativeOptions = {
  resolver: Resolver;
  /** Judges each address before a packet goes there: the names behind it are the customer's. */
  allowAddress: (ip: string) => boolean;
  /** Servers known to answer for a name (our own, in local mode): taken as they are, without a look-up and without guard. */
  known?: (name: string) => readonly ServerAddress[] | undefined;
  queryTimeoutMs?: number;
  /** The port that customers' servers listen on; only tests have reason to change it. */
  port?: number;
};

export type OwnServers = { zone: string; servers: readonly ServerAddress[] };

export type Authoritative = {
  /** The servers of the zone that a name is in; undefined where none can be found or may be asked. */
  findServers(name: string, signal?: AbortSignal): Promise<OwnServers | undefined>;
  /** Found when any of the servers has it, absent when all that answer say so, else a failure. */
  ask<T extends LookupType>(own: OwnServers, name: string, type: T, signal?: AbortSignal): Promise<Lookup<T>>;
};

const maxServers = 3;
const maxReferrals = 3;

export function createAuthoritative(options: AuthoritativeOptions): Authoritative {
  const { resolver, allowAddress, queryTimeoutMs = 1500, port = 53 } = options;
  const never = new AbortController().signal;

  return {
    findServers,
    ask: (own, name, type, signal) => askOwn(own, name, type, { signal: signal ?? never, hops: 0 }),
  };

  async function findServers(name: string, signal?: AbortSignal): Promise<OwnServers | undefined> {
    const known = options.known?.(name);
    if (known) return { zone: canonicalName(name), servers: known };
    const cut = await findZoneCut(canonicalName(name), signal);
    if (cut === undefined) return undefined;
    const servers = await addressesOf(cut.hosts, signal);
    return servers.length === 0 ? undefined : { zone: cut.zone, servers };
  }

  /** Walks up from the name to the first that has NS records of its own; a top-level domain is nobody's own zone. */
  async function findZoneCut(
    name: string,
    signal?: AbortSignal,
  ): Promise<{ zone: string; hosts: string[] } | undefined> {
    let zone = name;
    while (zone.includes(".")) {
      const found = await resolver.lookup(zone, "NS", { signal });
      if (found.kind === "found" && found.chain.length === 0) {
        return { zone, hosts: found.records.map((record) => record.target) };
      }
      if (found.kind === "servfail" || found.kind === "timeout") return undefined;
      const parent = zone.slice(zone.indexOf(".") + 1);
      // The SOA of the negative answer names the zone itself and saves the steps between.
      const told = found.kind === "found" ? undefined : found.zone;
      zone = told !== undefined && isWithin(parent, told) && told !== "" ? canonicalName(told) : parent;
    }
    return undefined;
  }

  /** One address for each host, IPv4 first, as many hosts as are asked. */
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

  async function askOwn<T extends LookupType>(own: OwnServers, name: string, type: T, way: Way): Promise<Lookup<T>> {
    const answers = await Promise.all(own.servers.map((server) => askServer(server, name, type, way)));
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
    way: Way,
  ): Promise<Lookup<T>> {
    const { signal, hops } = way;
    const typeCode = typeCodes[type];
    const asked = await exchange({ server, name, typeCode, recursion: false, timeoutMs: queryTimeoutMs, signal });
    if (asked.kind === "timeout") return asked;
    if (asked.kind !== "reply") return { kind: "servfail", reason: asked.kind };
    const answer = interpret(asked.reply, name, type);
    if (answer.kind === "servfail") return answer;
    if (answer.kind === "referral") return followReferral(answer.servers, name, type, { signal, hops: hops + 1 });
    // RFC 2181 §5.4.1: only an authoritative answer is the domain's own word.
    if (!asked.reply.authoritative) return { kind: "servfail", reason: "lame" };
    if (answer.kind !== "alias") return answer;
    // The alias leaves what this server knows: the rest is others' matter, and resolvers know it.
    const rest = await resolver.lookup(answer.chain.at(-1) ?? "", type, { signal, fresh: true });
    return "chain" in rest ? { ...rest, chain: [...answer.chain, ...rest.chain] } : rest;
  }

  async function followReferral<T extends LookupType>(
    hosts: readonly string[],
    name: string,
    type: T,
    way: Way,
  ): Promise<Lookup<T>> {
    if (way.hops > maxReferrals) return { kind: "servfail", reason: "lame" };
    const servers = await addressesOf(hosts, way.signal);
    if (servers.length === 0) return { kind: "servfail", reason: "blocked" };
    return askOwn({ zone: "", servers }, name, type, way);
  }
}

type Way = { signal: AbortSignal; hops: number };
