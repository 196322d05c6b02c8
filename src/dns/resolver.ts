/** Asks recursive DNS servers: with time-outs, retries, a cache, bounded aliases, and failures told apart from absence. */
import {
  canonicalName,
  isWithin,
  type Lookup,
  type LookupType,
  type ServfailReason,
  sameName,
} from "../mail/dns-record.ts";
import { setDeadline } from "../ops/deadline.ts";
import { createLookupCache } from "./cache.ts";
import { exchange } from "./exchange.ts";
import { createGate } from "./gate.ts";
import { type Interpretation, interpret, maxChain } from "./interpret.ts";
import { typeCodes } from "./message.ts";
import { labelsOf, MalformedMessage } from "./name-wire.ts";
import { type Route, type ServerAddress, systemServers } from "./servers.ts";

export type ResolverOptions = {
  /** Asked in this order. Default: the system's, read at each look-up. */
  servers?: readonly ServerAddress[];
  /** Other servers for certain names; the longest suffix wins. A function may give undefined for the usual servers. */
  routes?: readonly Route[] | ((name: string) => readonly ServerAddress[] | undefined);
  queryTimeoutMs?: number;
  totalTimeoutMs?: number;
  cacheEntries?: number;
  mixCase?: boolean;
  maxInFlight?: number;
  now?: () => number;
};

export type LookupOptions = {
  /** Passes over the cache, which then keeps the new answer. */
  fresh?: boolean;
  /** Aborting rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Instead of `totalTimeoutMs`. */
  timeoutMs?: number;
};

export type Resolver = {
  lookup<T extends LookupType>(name: string, type: T, options?: LookupOptions): Promise<Lookup<T>>;
  /** Ends all look-ups in flight as time-outs. */
  stop(): void;
};

const rounds = 2;
const penaltyMs = 30_000;

export function createResolver(options: ResolverOptions = {}): Resolver {
  const { queryTimeoutMs = 1500, totalTimeoutMs = 4500, now = Date.now, mixCase = false } = options;
  const cache = createLookupCache({ entries: options.cacheEntries ?? 10_000, now });
  const gate = createGate(options.maxInFlight ?? 256);
  const stopped = new AbortController();
  const shared = new Map<string, Promise<Lookup>>();
  /** Servers that did not answer lately, and until when they are asked last. */
  const penalties = new Map<string, number>();

  return {
    async lookup<T extends LookupType>(name: string, type: T, wanted: LookupOptions = {}): Promise<Lookup<T>> {
      wanted.signal?.throwIfAborted();
      const owner = canonicalName(name);
      // A name that cannot be written into a question cannot exist either.
      if (!isWritable(owner)) return { kind: "nxdomain", chain: [], ttlSeconds: 0 };
      if (wanted.fresh === true) return withDeadline(owner, type, wanted);
      const cached = cache.get(owner, type);
      if (cached) return cached;
      const key = `${owner} ${type}`;
      let running = shared.get(key) as Promise<Lookup<T>> | undefined;
      if (running === undefined) {
        running = withDeadline(owner, type, {}).finally(() => shared.delete(key));
        shared.set(key, running);
      }
      return unlessEnded(running, wanted);
    },
    stop: () => stopped.abort(),
  };

  async function withDeadline<T extends LookupType>(name: string, type: T, wanted: LookupOptions): Promise<Lookup<T>> {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    const deadline = setDeadline(wanted.timeoutMs ?? totalTimeoutMs, end);
    wanted.signal?.addEventListener("abort", end, { once: true });
    stopped.signal.addEventListener("abort", end, { once: true });
    if (stopped.signal.aborted) end();
    try {
      const result = await followAliases(name, type, ended.signal);
      wanted.signal?.throwIfAborted();
      cache.put(name, type, result);
      return result;
    } finally {
      deadline.clear();
      wanted.signal?.removeEventListener("abort", end);
      stopped.signal.removeEventListener("abort", end);
    }
  }

  async function followAliases<T extends LookupType>(name: string, type: T, signal: AbortSignal): Promise<Lookup<T>> {
    const chain: string[] = [];
    let owner = name;
    let ttlSeconds = Number.POSITIVE_INFINITY;
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
      if (answer.kind !== "alias") return { ...answer, chain, ttlSeconds };
      owner = canonicalName(answer.chain.at(-1) ?? "");
    }
  }

  async function askServers<T extends LookupType>(
    name: string,
    type: T,
    signal: AbortSignal,
  ): Promise<Exclude<Interpretation<T>, { kind: "referral" }> | { kind: "timeout" }> {
    let reason: ServfailReason | undefined;
    for (let round = 0; round < rounds; round++) {
      for (const server of inOrder(serversFor(name))) {
        if (signal.aborted) break;
        const asked = await gate.run(() =>
          exchange({
            server,
            name,
            typeCode: typeCodes[type],
            recursion: true,
            mixCase,
            timeoutMs: queryTimeoutMs,
            signal,
          }),
        );
        if (asked.kind === "reply") {
          penalties.delete(keyOf(server));
          const answer = interpret(asked.reply, name, type);
          if (answer.kind !== "servfail" && answer.kind !== "referral") return answer;
          reason = answer.kind === "servfail" ? answer.reason : "lame";
          continue;
        }
        if (asked.kind === "malformed") reason = "malformed";
        else if (!signal.aborted) penalties.set(keyOf(server), now() + penaltyMs);
        if (asked.kind === "unreachable") reason ??= "unreachable";
        // Silence is the stronger word: a closed port beside a silent server says less than the silence.
        if (asked.kind === "timeout" && reason === "unreachable") reason = undefined;
      }
    }
    return reason === undefined ? { kind: "timeout" } : { kind: "servfail", reason };
  }

  function serversFor(name: string): readonly ServerAddress[] {
    const { routes } = options;
    const routed = typeof routes === "function" ? routes(name) : longestRoute(routes ?? [], name);
    return routed ?? options.servers ?? systemServers();
  }

  function inOrder(servers: readonly ServerAddress[]): readonly ServerAddress[] {
    const penalised = (server: ServerAddress): number => ((penalties.get(keyOf(server)) ?? 0) > now() ? 1 : 0);
    return servers.toSorted((a, b) => penalised(a) - penalised(b));
  }
}

function keyOf(server: ServerAddress): string {
  return `${server.host} ${server.port}`;
}

function longestRoute(routes: readonly Route[], name: string): readonly ServerAddress[] | undefined {
  return routes.filter((route) => isWithin(name, route.suffix)).toSorted((a, b) => b.suffix.length - a.suffix.length)[0]
    ?.servers;
}

function isWritable(name: string): boolean {
  try {
    labelsOf(name);
    return true;
  } catch (error) {
    if (error instanceof MalformedMessage) return false;
    throw error;
  }
}

/** A shared look-up goes on for the others when one of its askers has had enough. */
async function unlessEnded<T extends LookupType>(
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
