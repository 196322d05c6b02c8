/** Finds the addresses that a webhook may be posted to: looked up by our own resolver, judged one by one. Who connects, connects to
 * an address that came out of here and looks nothing up again: DNS that changes its answer in between changes nothing. */
import { isIP } from "node:net";
import { canonicalName, type Lookup } from "../mail/dns-record.ts";
import { refusedAddress, type WebhookGuard, type WebhookTarget } from "../rules/webhook-url.ts";

export type AddressResolver = {
  lookup<T extends "A" | "AAAA">(name: string, type: T, options?: { signal?: AbortSignal }): Promise<Lookup<T>>;
};

/** `refused`: it has addresses, and none that may be connected to. */
export type Found = { kind: "found"; addresses: string[] } | { kind: "refused" | "unknown"; error: string };

export type TargetFinder = {
  /** IPv4 first: a network without IPv6 is more usual than one without IPv4. */
  addressesOf(target: WebhookTarget, signal?: AbortSignal): Promise<Found>;
  /** A URL as it may be stored, or what to change. A name that DNS does not know yet is no mistake: it is judged at each request. */
  check(text: string, signal?: AbortSignal): Promise<{ url: string } | { problem: string }>;
};

export function createTargetFinder(deps: { resolver: AddressResolver; guard: WebhookGuard }): TargetFinder {
  const { resolver, guard } = deps;

  async function addressesOf(target: WebhookTarget, signal?: AbortSignal): Promise<Found> {
    const found = await lookUp(resolver, target.host, signal);
    if ("error" in found) return { kind: "unknown", error: found.error };
    const addresses = found.addresses.filter((ip) => guard.allows(target, ip));
    if (addresses.length > 0) return { kind: "found", addresses };
    return { kind: "refused", error: refusedAddress(target, found.addresses[0]!) };
  }

  return {
    addressesOf,
    async check(text, signal) {
      const target = guard.read(text);
      if ("problem" in target) return target;
      const found = await addressesOf(target, signal);
      return found.kind === "refused" ? { problem: found.error } : { url: target.url };
    },
  };
}

async function lookUp(
  resolver: AddressResolver,
  host: string,
  signal?: AbortSignal,
): Promise<{ addresses: string[] } | { error: string }> {
  if (isIP(host) !== 0) return { addresses: [host] };
  // RFC 6761 §6.3: these names are never looked up, and always mean this machine.
  if (host === "localhost" || canonicalName(host).endsWith(".localhost")) return { addresses: ["127.0.0.1", "::1"] };
  const answers = await Promise.all([
    resolver.lookup(host, "A", { signal }),
    resolver.lookup(host, "AAAA", { signal }),
  ]);
  const addresses = answers.flatMap((answer) =>
    answer.kind === "found" ? answer.records.map((record) => record.address) : [],
  );
  if (addresses.length > 0) return { addresses };
  const kinds = answers.map((answer) => answer.kind);
  if (kinds.includes("timeout")) return { error: `DNS did not answer for the address of ${host}` };
  if (kinds.includes("servfail")) return { error: `DNS could not tell the address of ${host}` };
  return { error: kinds.includes("nxdomain") ? `the host ${host} does not exist` : `the host ${host} has no address` };
}
