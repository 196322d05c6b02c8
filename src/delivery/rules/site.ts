/** The limits of a site (dns/site.ts). Pace is kept per site, because the domains that a provider hosts share its limits. Used by pace/ and by
 * the setting POSTHORN_SITE_LIMITS. */
import type { SiteGroup } from "../../dns/site.ts";

export type SiteLimit = {
  /** Concurrent connections of all nodes together. */
  connections: number;
  /** Messages per second of all nodes together; undefined: not limited. */
  perSecond?: number;
  /** Messages on one connection before it is closed. */
  perConnection?: number;
};

/** For sites without an entry in `knownLimits`. */
export const defaultSiteLimit: SiteLimit = { connections: 10, perConnection: 100 };

/**
 * Starting limits of large receivers, with low figures for receivers that are known to be strict. The receiver's replies (421, 4.7.x) slow
 * the pace down further, and POSTHORN_SITE_LIMITS overrides the table.
 */
const knownLimits: Readonly<Record<SiteGroup, SiteLimit>> = {
  "google.com": { connections: 20, perConnection: 50 },
  "googlemail.com": { connections: 20, perConnection: 50 },
  "olc.protection.outlook.com": { connections: 5, perConnection: 50 },
  "mail.protection.outlook.com": { connections: 20, perConnection: 50 },
  "mx.microsoft": { connections: 20, perConnection: 50 },
  "yahoodns.net": { connections: 5, perConnection: 20 },
  "icloud.com": { connections: 5, perConnection: 5 },
  "comcast.net": { connections: 20, perConnection: 100 },
  "orange.fr": { connections: 3, perConnection: 100 },
  "free.fr": { connections: 3, perConnection: 50 },
  "laposte.net": { connections: 3, perConnection: 50 },
  "gmx.net": { connections: 5, perConnection: 50 },
  "web.de": { connections: 5, perConnection: 50 },
  "t-online.de": { connections: 3, perConnection: 50 },
  "mail.ru": { connections: 5, perConnection: 50 },
  "yandex.net": { connections: 5, perConnection: 50 },
  "qq.com": { connections: 3, perConnection: 20 },
  "163.com": { connections: 3, perConnection: 20 },
};

/** The limits of a site: the operator's, else those of the table, else the default. */
export function createSiteLimits(overrides: ReadonlyMap<string, SiteLimit>): (site: string) => SiteLimit {
  const others = overrides.get("*") ?? defaultSiteLimit;
  return (site) => overrides.get(site) ?? knownLimit(site) ?? others;
}

function knownLimit(site: string): SiteLimit | undefined {
  return Object.hasOwn(knownLimits, site) ? knownLimits[site as SiteGroup] : undefined;
}

/** Parses `google.com=40,yahoodns.net=5/2`: connections, and optionally messages per second after a slash. `*` is every site that has no
 * limit of its own. */
export function readSiteLimits(
  text: string,
): { ok: true; limits: Map<string, SiteLimit> } | { ok: false; reason: string } {
  const limits = new Map<string, SiteLimit>();
  for (const entry of text.split(",").map((part) => part.trim())) {
    if (entry === "") continue;
    const match = /^(\*|[a-z0-9.:-]+)=(\d{1,4})(?:\/(\d{1,6}(?:\.\d{1,3})?))?$/i.exec(entry);
    const connections = Number(match?.[2]);
    const perSecond = match?.[3] === undefined ? undefined : Number(match[3]);
    if (!match || connections < 1 || perSecond === 0)
      return {
        ok: false,
        reason: `${JSON.stringify(entry)} is not a valid limit; write for example google.com=20 or *=10/5`,
      };
    const site = match[1]!.toLowerCase();
    const base = knownLimit(site) ?? defaultSiteLimit;
    limits.set(site, { ...base, connections, ...(perSecond !== undefined && { perSecond }) });
  }
  return { ok: true, limits };
}
