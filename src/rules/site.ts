/** Which receiver a destination belongs to: pace is kept per site, since a thousand domains hosted in one place share its patience. */
import { getDomain } from "tldts";
import { siteGroups } from "./site-limits.ts";

/**
 * The group of the best MX host: one of the table of large receivers, else the host's registered domain. Private suffixes do not
 * count: hosts below amazonaws.com are one receiver. Of several best hosts the first by name decides, so that it stays the same.
 */
export function siteOf(hosts: readonly { host: string; preference: number }[]): string | undefined {
  const best = Math.min(...hosts.map(({ preference }) => preference));
  const [host] = hosts
    .filter(({ preference }) => preference === best)
    .map((candidate) => candidate.host.toLowerCase().replace(/\.$/, ""))
    .sort();
  if (host === undefined) return undefined;
  const group = siteGroups.find((suffix) => host === suffix || host.endsWith(`.${suffix}`));
  return group ?? getDomain(host, { allowPrivateDomains: false, validateHostname: false }) ?? host;
}
