/**
 * dns/ holds names and records (record.ts, name.ts), this client of recursive servers, and our own server (authority.ts).
 * The resolver adds timeouts, retries, a cache and a limit on aliases, and distinguishes a failure from an absent record.
 * Next: exchange.ts sends one query, interpret.ts reads its answer, authoritative.ts queries a domain's own servers.
 */

import { setDeadline } from "../ops/deadline.ts";
import { createBudget } from "../shares/budget.ts";
import { createLookupCache } from "./cache.ts";
import { type ExchangeResult, exchange } from "./exchange.ts";
import { type Interpretation, interpret, maxChain } from "./interpret.ts";
import { type DnsMessage, rcodes, typeCodes } from "./message.ts";
import { labelsOf, MalformedMessage } from "./name-codec.ts";
import { canonicalName, isAtOrBelow, type Lookup, type LookupType, type ServfailReason, sameName } from "./record.ts";
import { type Route, type ServerAddress, systemServers } from "./servers.ts";

export type ResolverOptions = {
  /** Queried in this order. Default: the system's servers, read at each lookup. */
  servers?: readonly ServerAddress[];
  /** Other servers for certain names; the longest suffix wins. A function may return undefined to use `servers`. */
  routes?: readonly Route[] | ((name: string) => readonly ServerAddress[] | undefined);
  /** The servers validate DNSSEC: queries ask for the result, and answers carry it as `secure`. Their word is trusted. */
  validated?: boolean;
  /** Called when a server has replied, whatever the reply. */
  onReply?: () => void;
  queryTimeoutMs?: number;
  totalTimeoutMs?: number;
  cacheEntries?: number;
  maxInFlight?: number;
  now?: () => number;
};

export type LookupOptions = {
  /** Ignores a cached answer. The new answer is still cached. */
  bypassCache?: boolean;
  /** Aborting rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Overrides `totalTimeoutMs`. */
  timeoutMs?: number;
};

export type Resolver = {
  lookup<T extends LookupType>(name: string, type: T, options?: LookupOptions): Promise<Lookup<T>>;
  /** Ends all lookups in flight as timeouts. */
  stop(): void;
};

type Answered<T extends LookupType> = Exclude<Interpretation<T>, { kind: "referral" | "servfail" }>;
type ServerAnswer<T extends LookupType> =
  | (Answered<T> & { secure: boolean })
  | { kind: "servfail"; reason: ServfailReason }
  | { kind: "timeout" };

const rounds = 2;
const penaltyMs = 30_000;

export function createResolver(options: ResolverOptions = {}): Resolver {
  const {
    validated: dnssec = false,
    queryTimeoutMs = 1500,
    totalTimeoutMs = 4500,
    now = () => performance.now(),
  } = options;
  const cache = createLookupCache({ entries: options.cacheEntries ?? 10_000, now });
  // Strangers choose many of the names: of a sender's domain, of its keys and policies. The names of one domain get at most half, so
  // that slow servers of one domain do not delay the lookups of others.
  const queryLimit = createBudget({ total: options.maxInFlight ?? 256, factor: 1 });
  const stopped = new AbortController();
  /** Lookups in flight, shared by concurrent callers of the same name and type. */
  const shared = new Map<string, Promise<Lookup>>();
  /** For each server that recently did not answer: the time until which it is queried last. */
  const penalties = new Map<string, number>();

  return {
    async lookup<T extends LookupType>(name: string, type: T, caller: LookupOptions = {}): Promise<Lookup<T>> {
      caller.signal?.throwIfAborted();
      const owner = canonicalName(name);
      const cached = caller.bypassCache === true ? undefined : cache.get(owner, type);
      if (cached) return cached;
      // A name that cannot be encoded in a query cannot exist.
      if (!isEncodable(owner)) return { kind: "nxdomain", chain: [], ttlSeconds: 0 };
      if (caller.bypassCache === true) return withDeadline(owner, type, caller);
      const key = `${owner} ${type}`;
      let running = shared.get(key) as Promise<Lookup<T>> | undefined;
      if (running === undefined) {
        running = withDeadline(owner, type, {}).finally(() => shared.delete(key));
        shared.set(key, running);
      }
      return waitForShared(running, caller);
    },
    stop: () => stopped.abort(),
  };

  async function withDeadline<T extends LookupType>(name: string, type: T, caller: LookupOptions): Promise<Lookup<T>> {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const deadline = setDeadline(caller.timeoutMs ?? totalTimeoutMs, end);
    caller.signal?.addEventListener("abort", end, { once: true });
    stopped.signal.addEventListener("abort", end, { once: true });
    if (stopped.signal.aborted) end();
    try {
      const result = await followAliases(name, type, ended.signal);
      caller.signal?.throwIfAborted();
      cache.put(name, type, result);
      return result;
    } finally {
      deadline.clear();
      caller.signal?.removeEventListener("abort", end);
      stopped.signal.removeEventListener("abort", end);
    }
  }

  async function followAliases<T extends LookupType>(name: string, type: T, signal: AbortSignal): Promise<Lookup<T>> {
    const chain: string[] = [];
    let owner = name;
    let ttlSeconds = Number.POSITIVE_INFINITY;
    let secure = true;
    for (;;) {
      const answer = await askServers(owner, type, signal);
      if (answer.kind === "servfail" || answer.kind === "timeout") return answer;
      for (const target of answer.chain) {
        if (chain.length >= maxChain || [name, ...chain].some((seen) => sameName(seen, target))) {
          return { kind: "servfail", reason: "cname-loop" };
        }
        chain.push(target);
      }
      ttlSeconds = Math.min(ttlSeconds, answer.ttlSeconds);
      secure &&= answer.secure;
      if (answer.kind !== "alias") {
        const { secure: _, ...rest } = answer;
        return { ...rest, chain, ttlSeconds, ...(secure && { secure }) } as Lookup<T>;
      }
      owner = canonicalName(answer.chain.at(-1) ?? "");
    }
  }

  async function askServers<T extends LookupType>(
    name: string,
    type: T,
    signal: AbortSignal,
  ): Promise<ServerAnswer<T>> {
    let reason: ServfailReason | undefined;
    for (let round = 0; round < rounds; round++) {
      for (const server of inOrder(serversFor(name))) {
        if (signal.aborted) break;
        const result = await inTurn(name, signal, () =>
          exchange({
            server,
            name,
            typeCode: typeCodes[type],
            recursion: true,
            dnssec,
            timeoutMs: queryTimeoutMs,
            signal,
          }),
        );
        if (result.kind === "reply") {
          penalties.delete(keyOf(server));
          options.onReply?.();
          if (dnssec && lacksDnssec(result.reply)) {
            reason = "no-edns";
            continue;
          }
          const answer = interpret(result.reply, name, type);
          if (answer.kind !== "servfail" && answer.kind !== "referral")
            return { ...answer, secure: dnssec && result.reply.authenticData };
          reason = answer.kind === "servfail" ? answer.reason : "lame";
          continue;
        }
        if (result.kind === "malformed") reason = "malformed";
        else if (!signal.aborted) penalties.set(keyOf(server), now() + penaltyMs);
        if (result.kind === "unreachable") reason ??= "unreachable";
        // If one server has a closed port and another is silent, the lookup is a timeout: the silent one may still work.
        if (result.kind === "timeout" && reason === "unreachable") reason = undefined;
      }
    }
    return reason === undefined ? { kind: "timeout" } : { kind: "servfail", reason };
  }

  /** Runs a query when it is the turn of the name's domain. The deadline of the lookup also ends the wait for the turn. */
  async function inTurn(
    name: string,
    signal: AbortSignal,
    query: () => Promise<ExchangeResult>,
  ): Promise<ExchangeResult> {
    try {
      return await queryLimit.run(ownerOf(name), query, signal);
    } catch (error) {
      if (signal.aborted) return { kind: "timeout" };
      throw error;
    }
  }

  function serversFor(name: string): readonly ServerAddress[] {
    const { routes } = options;
    const routed = typeof routes === "function" ? routes(name) : longestRoute(routes ?? [], name);
    return routed ?? options.servers ?? systemServers();
  }

  function inOrder(servers: readonly ServerAddress[]): readonly ServerAddress[] {
    const penalized = (server: ServerAddress): number => ((penalties.get(keyOf(server)) ?? 0) > now() ? 1 : 0);
    return servers.toSorted((a, b) => penalized(a) - penalized(b));
  }
}

/** RFC 6891 §7 and RFC 3225 §3: a server that supports EDNS and DNSSEC repeats both. Without them the AD flag cannot be trusted to be
 * present, so the answer does not count: read as insecure, it would turn DANE off for every domain. */
function lacksDnssec({ edns, rcode }: DnsMessage): boolean {
  const { NOERROR, NXDOMAIN, FORMERR, NOTIMP } = rcodes;
  return edns?.dnssecOk !== true && ([NOERROR, NXDOMAIN, FORMERR, NOTIMP] as number[]).includes(rcode);
}

/** The domain that a name belongs to, as far as can be told without a list of public suffixes. */
function ownerOf(name: string): string {
  return name.split(".").slice(-2).join(".");
}

function keyOf(server: ServerAddress): string {
  return `${server.host} ${server.port}`;
}

function longestRoute(routes: readonly Route[], name: string): readonly ServerAddress[] | undefined {
  return routes
    .filter((route) => isAtOrBelow(name, route.suffix))
    .toSorted((a, b) => b.suffix.length - a.suffix.length)[0]?.servers;
}

function isEncodable(name: string): boolean {
  try {
    labelsOf(name);
    return true;
  } catch (error) {
    if (error instanceof MalformedMessage) return false;
    throw error;
  }
}

/** Waits for a shared lookup under the caller's own signal and timeout. The lookup continues for its other callers. */
async function waitForShared<T extends LookupType>(
  running: Promise<Lookup<T>>,
  { signal, timeoutMs }: LookupOptions,
): Promise<Lookup<T>> {
  if (signal === undefined && timeoutMs === undefined) return running;
  const { promise, resolve, reject } = Promise.withResolvers<Lookup<T>>();
  const onAbort = (): void => reject(signal?.reason);
  const deadline = timeoutMs === undefined ? undefined : setDeadline(timeoutMs, () => resolve({ kind: "timeout" }));
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([running, promise]);
  } finally {
    deadline?.clear();
    signal?.removeEventListener("abort", onAbort);
  }
}
