/** How hard a receiver may be pressed, as data: starting points for large receivers, and what anybody else gets. */

export type SiteLimit = {
  /** Connections at once, of all nodes together. */
  connections: number;
  /** Messages per second, of all nodes together; undefined: as fast as the connections carry them. */
  perSecond?: number;
  /** Messages on one connection before it is closed. */
  perConnection?: number;
};

export const defaultSiteLimit: SiteLimit = { connections: 10, perConnection: 100 };

/**
 * By the suffix of MX host names. The figures are our starting points, cautious where a receiver is known to be strict: its own replies
 * (421, 4.7.x) make the pace slower, and POSTHORN_SITE_LIMITS overrides any of them.
 */
const known: Readonly<Record<string, SiteLimit>> = {
  "google.com": { connections: 20, perConnection: 50 },
  "googlemail.com": { connections: 20, perConnection: 50 },
  // Consumer and business mail at Microsoft are separate places with separate patience.
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

/** Suffixes that are sites of their own, the longest first. */
export const siteGroups: readonly string[] = Object.keys(known).sort((a, b) => b.length - a.length);

export function createSiteLimits(overrides: ReadonlyMap<string, SiteLimit>): (site: string) => SiteLimit {
  const others = overrides.get("*") ?? defaultSiteLimit;
  return (site) => overrides.get(site) ?? known[site] ?? others;
}

/** `google.com=40,yahoodns.net=5/2` : connections, and messages per second behind a slash; `*` is every site without a line of its own. */
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
      return { ok: false, reason: `${JSON.stringify(entry)} is no limit; write for example google.com=20 or *=10/5` };
    const site = match[1]!.toLowerCase();
    const base = known[site] ?? defaultSiteLimit;
    limits.set(site, { ...base, connections, ...(perSecond !== undefined && { perSecond }) });
  }
  return { ok: true, limits };
}
