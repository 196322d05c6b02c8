/** Host names of source addresses, from reverse DNS. A name counts only if it resolves back to the address, because the owner of an address
 * can give it any name. Called by service.ts, which waits for a moment at most: names that come later are shown by the next call. */
import { setTimeout as delay } from "node:timers/promises";
import ipaddr from "ipaddr.js";
import { canonicalName } from "../dns/record.ts";
import type { Resolver } from "../dns/resolver.ts";
import { reverseName } from "../dns/reverse-name.ts";
import { createBudget } from "../shares/budget.ts";

export type HostsDeps = {
  resolver: Resolver;
  /** How long a call waits. */
  waitMs?: number;
  /** A monotonic clock. */
  nowMs?: () => number;
};

const keptMs = 6 * 60 * 60_000;
const maxKept = 20_000;
/** Addresses that are looked up at the same time. A workspace leaves a quarter to the others: its reports can name addresses whose name servers
 * do not answer. */
const lookups = { total: 32, factor: 3 };
/** An address names at most this many hosts that are tried. */
const maxNames = 3;
/** A tenant can report about its own domain with any address. The names that the operator's resolver has for these are not for tenants. */
const internalRanges = ["private", "loopback", "linkLocal", "uniqueLocal", "carrierGradeNat", "unspecified"];

export function createHosts(deps: HostsDeps) {
  const { resolver, waitMs = 500, nowMs = () => performance.now() } = deps;
  const known = new Map<string, { host: string; untilMs: number }>();
  const running = new Map<string, Promise<void>>();
  const places = createBudget(lookups);

  function start(ip: string, workspaceId: string): void {
    const entry = known.get(ip);
    if (ip === "" || isInternal(ip) || running.has(ip) || (entry && entry.untilMs > nowMs())) return;
    if (!places.tryTake(workspaceId, 1)) return;
    const lookup = hostOf(resolver, ip)
      .then((host) => {
        known.delete(ip);
        known.set(ip, { host, untilMs: nowMs() + keptMs });
        for (const oldest of known.keys()) {
          if (known.size <= maxKept) break;
          known.delete(oldest);
        }
      })
      // DNS did not answer: the next call asks again.
      .catch(() => {})
      .finally(() => {
        running.delete(ip);
        places.give(workspaceId, 1);
      });
    running.set(ip, lookup);
  }

  return async (ips: readonly string[], workspaceId: string): Promise<ReadonlyMap<string, string>> => {
    for (const ip of ips) start(ip, workspaceId);
    const open = ips.flatMap((ip) => running.get(ip) ?? []);
    if (open.length > 0) {
      const ended = new AbortController();
      await Promise.race([Promise.all(open), delay(waitMs, undefined, { signal: ended.signal }).catch(() => {})]);
      ended.abort();
    }
    return new Map(ips.flatMap((ip) => (known.has(ip) ? [[ip, known.get(ip)!.host] as const] : [])));
  };
}

function isInternal(ip: string): boolean {
  return internalRanges.includes(ipaddr.parse(ip).range());
}

/** Empty: the address has no name that resolves back to it. */
async function hostOf(resolver: Resolver, ip: string): Promise<string> {
  const pointer = await resolver.lookup(reverseName(ip), "PTR");
  if (pointer.kind === "servfail" || pointer.kind === "timeout") throw new Error(pointer.kind);
  if (pointer.kind !== "found") return "";
  const address = ipaddr.parse(ip);
  const type = address.kind() === "ipv4" ? "A" : "AAAA";
  for (const { target } of pointer.records.slice(0, maxNames)) {
    const forward = await resolver.lookup(target, type);
    if (forward.kind !== "found") continue;
    const addresses = forward.records.map((record) => ipaddr.parse(record.address).toNormalizedString());
    if (addresses.includes(address.toNormalizedString())) return canonicalName(target);
  }
  return "";
}
