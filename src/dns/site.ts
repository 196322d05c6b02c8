/**
 * Sites: the receivers behind mail servers. delivery/ keeps its pace per site, stats/ counts mail per site, and emails/ finds the emails of
 * a site.
 */
import { getDomain } from "tldts";

/** Large receivers, by the suffix of their MX host names. */
const largeReceivers = [
  "google.com",
  "googlemail.com",
  // Microsoft limits consumer and business mail separately.
  "olc.protection.outlook.com",
  "mail.protection.outlook.com",
  "mx.microsoft",
  "yahoodns.net",
  "icloud.com",
  "comcast.net",
  "orange.fr",
  "free.fr",
  "laposte.net",
  "gmx.net",
  "web.de",
  "t-online.de",
  "mail.ru",
  "yandex.net",
  "qq.com",
  "163.com",
] as const;
export type SiteGroup = (typeof largeReceivers)[number];

/** Host suffixes that are a site each, longest first. */
export const siteGroups: readonly string[] = largeReceivers.toSorted((a, b) => b.length - a.length);

/** The site of the best MX host. Of several best hosts the first by name decides, so that the result is stable. */
export function siteOf(hosts: readonly { host: string; preference: number }[]): string | undefined {
  const best = Math.min(...hosts.map(({ preference }) => preference));
  const [host] = hosts
    .filter(({ preference }) => preference === best)
    .map((candidate) => hostName(candidate.host))
    .sort();
  return host === undefined ? undefined : siteOfHost(host);
}

/** A suffix in the list of large receivers, or else the host's registered domain. Private suffixes do not count: all hosts below
 * amazonaws.com are one site. */
export function siteOfHost(text: string): string {
  const host = hostName(text);
  return siteGroups.find((suffix) => isWithin(host, suffix)) ?? registeredDomain(host) ?? host;
}

/** Which hosts belong to a site: the host of that name, with `andBelow` those below it, but none of `except` or below. */
export type HostsOfSite = { site: string; andBelow: boolean; except: string[] };

/** For queries. Public suffixes below a registered domain, as in kobe.jp, are not looked at: their hosts belong to it here. */
export function hostsOf(site: string): HostsOfSite {
  const andBelow = siteGroups.includes(site) || registeredDomain(site) === site;
  return { site, andBelow, except: siteGroups.filter((group) => group !== site && isWithin(group, site)) };
}

function hostName(text: string): string {
  return text.toLowerCase().replace(/\.$/, "");
}

function isWithin(host: string, suffix: string): boolean {
  return host === suffix || host.endsWith(`.${suffix}`);
}

function registeredDomain(host: string): string | null {
  return getDomain(host, { allowPrivateDomains: false, validateHostname: false });
}
