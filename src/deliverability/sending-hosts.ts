/** Looks up the machines that send: PTR, forward and HELO names. The result is the same for all domains and is shared for a while. Called by check.ts. */
import ipaddr from "ipaddr.js";
import type { Source } from "../delivery/rules/source.ts";
import { isPublicAddress } from "../dns/address-guard.ts";
import { canonicalName, type LookupFunction } from "../dns/record.ts";
import { reversed } from "./blocklists.ts";
import { type Answer, isUnanswered, type SendingHost } from "./rules/facts.ts";

export type HostName = { address: string; helo: string };

/** Looking up every address of a large pool would take longer than a check may. */
export const maxHosts = 32;

/** The addresses that receivers see: the public ones, and sources that are public themselves. */
export function sendingHosts(config: {
  publicIps: readonly string[];
  sources: readonly Source[];
  hostname: string;
}): HostName[] {
  const helo = new Map(config.sources.map(({ address, heloName }) => [canonical(address), heloName]));
  const addresses = [
    ...config.publicIps,
    ...config.sources.map(({ address }) => address).filter((address) => isPublicAddress(address)),
  ].map(canonical);
  return [...new Set(addresses)].map((address) => ({ address, helo: helo.get(address) ?? config.hostname }));
}

export async function lookUpHosts(hosts: readonly HostName[], lookup: LookupFunction): Promise<SendingHost[]> {
  return await Promise.all(
    hosts.slice(0, maxHosts).map(async ({ address, helo }) => {
      const [ptr, heloAddresses] = await Promise.all([lookUpPtr(address, lookup), addressesOf(helo, address, lookup)]);
      return { address, helo, ptr, heloAddresses };
    }),
  );
}

/** More names than this in a PTR record are not looked up. */
const maxNames = 5;

async function lookUpPtr(address: string, lookup: LookupFunction): Promise<SendingHost["ptr"]> {
  const suffix = address.includes(":") ? "ip6.arpa" : "in-addr.arpa";
  const found = await lookup(`${reversed(address)}.${suffix}`, "PTR");
  if (found.kind === "nxdomain" || found.kind === "nodata") return [];
  if (found.kind !== "found") return { unanswered: "DNS did not answer for its PTR record" };
  const names = [...new Set(found.records.map(({ target }) => canonicalName(target)))].slice(0, maxNames);
  return await Promise.all(
    names.map(async (name) => {
      const back = await addressesOf(name, address, lookup);
      return { name, resolvesBack: isUnanswered(back) ? back : back.includes(address) };
    }),
  );
}

/** The addresses of a name in the family of `like`. */
async function addressesOf(name: string, like: string, lookup: LookupFunction): Promise<Answer<string[]>> {
  const found = await lookup(name, like.includes(":") ? "AAAA" : "A");
  if (found.kind === "nxdomain" || found.kind === "nodata") return [];
  if (found.kind !== "found") return { unanswered: `DNS did not answer for ${name}` };
  return found.records.map(({ address }) => canonical(address));
}

function canonical(address: string): string {
  return ipaddr.process(address).toString();
}
