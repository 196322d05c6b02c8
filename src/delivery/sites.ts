/** Which site each destination belongs to, found by DNS once and shared by all nodes, and the pace at each, kept in step with them. */
import type { Log } from "../ops/log.ts";
import { siteOf } from "../rules/site.ts";
import type { SiteLimit } from "../rules/site-limits.ts";
import type { Signal } from "../rules/site-pace.ts";
import { findHosts, type RouteDeps } from "../smtp/route.ts";
import { isDatabaseAway, type Sql } from "../store/db.ts";
import {
  readDeliveryNodes,
  readDestinations,
  readSites,
  reportSites,
  type SiteReport,
  saveDestinations,
} from "../store/sites.ts";
import { createSitePace } from "./site-pace.ts";

/** How long an answer of DNS is believed here: whole receivers rarely move. One that did not come is asked for again soon. */
const keptMs = { found: 3_600_000, failed: 30_000 };
const destinationsKept = 100_000;
/** Names looked up at once; the others wait, and nobody waits for them. */
const atOnce = 50;

export type SitesDeps = {
  sql: Sql;
  log: Log;
  route: RouteDeps;
  workerId(): number;
  limits: (site: string) => SiteLimit;
  scheduleMs: readonly number[];
  random(): number;
  /** Every destination is served by this one (a relay), or undefined where each has its own. */
  single: string | undefined;
  /** The relay that takes over for named sites, and for one that has failed so often in a row. */
  fallback: { site: string; sites: ReadonlySet<string>; afterFailures: number } | undefined;
};

export type Sites = ReturnType<typeof createSites>;

export function createSites(deps: SitesDeps) {
  const { sql, log } = deps;
  const known = new Map<string, { site: string; untilMs: number }>();
  const asked = new Set<string>();
  const waiting = new Set<string>();
  const stopping = new AbortController();
  let found = new Map<string, { domain: string; site: string; keptMs: number }>();
  let onChange = () => {};
  let since: string | undefined;
  let reports: SiteReport[] = [];
  let telling: Promise<void> = Promise.resolve();
  const pace = createSitePace({
    ...{ limits: deps.limits, scheduleMs: deps.scheduleMs, random: deps.random },
    report(report) {
      reports.push(report);
      telling = telling.then(tell);
    },
  });

  async function tell(): Promise<void> {
    const all = reports;
    reports = [];
    if (all.length === 0) return;
    try {
      pace.adopt(await reportSites(sql, merge(all)), Date.now());
    } catch (error) {
      // This node keeps to what it has seen; the others find out by themselves.
      if (!isDatabaseAway(error)) log.warn({ err: error }, "the state of a site could not be shared");
    }
    onChange();
  }

  async function resolve(domain: string): Promise<void> {
    asked.add(domain);
    try {
      const route = await findHosts(domain, deps.route, stopping.signal);
      const site = "hosts" in route ? siteOf(route.hosts) : undefined;
      remember(domain, site ?? domain, site ? keptMs.found : keptMs.failed);
      if (site) found.set(domain, { domain, site, keptMs: keptMs.found });
    } catch (error) {
      log.warn({ err: error, domain }, "the site of a destination could not be found");
      remember(domain, domain, keptMs.failed);
    } finally {
      asked.delete(domain);
      const [next] = waiting;
      if (next !== undefined) {
        waiting.delete(next);
        void resolve(next);
      }
      onChange();
    }
  }

  function remember(domain: string, site: string, forMs: number): void {
    if (known.size >= destinationsKept) known.clear();
    known.set(domain, { site, untilMs: Date.now() + forMs });
  }

  function ownSite(domain: string): string | undefined {
    if (deps.single !== undefined) return deps.single;
    const one = known.get(domain);
    if (one && one.untilMs > Date.now()) return one.site;
    if (!asked.has(domain) && !waiting.has(domain)) {
      if (asked.size < atOnce) void resolve(domain);
      else waiting.add(domain);
    }
    // A site that was known holds until DNS has answered again.
    return one?.site;
  }

  /** Why the relay is asked in place of the site. When the site's time has come again, one recipient tries it. */
  function reasonFor(site: string): string | undefined {
    if (!deps.fallback) return undefined;
    if (deps.fallback.sites.has(site)) return `mail for ${site} goes by the relay`;
    const { failures, untilMs } = pace.troubleOf(site);
    if (failures < deps.fallback.afterFailures || untilMs <= Date.now()) return undefined;
    return `${site} has failed ${failures} times in a row`;
  }

  return {
    pace,
    /** The site that serves a destination, or undefined while DNS is asked; `changed` is called when it is known. */
    siteOf(domain: string): string | undefined {
      const site = ownSite(domain);
      return site !== undefined && reasonFor(site) !== undefined ? deps.fallback!.site : site;
    },
    /** Why the relay serves a destination. */
    relayReason(domain: string): string {
      const site = known.get(domain)?.site ?? domain;
      return reasonFor(site) ?? `${site} has failed again and again`;
    },
    /** What other nodes have found out already need not be asked for. */
    async learn(domains: readonly string[]): Promise<void> {
      if (deps.single !== undefined) return;
      const unknown = domains.filter((domain) => !known.has(domain));
      if (unknown.length === 0) return;
      for (const one of await readDestinations(sql, unknown)) remember(one.domain, one.site, one.keptMs);
    },
    heard(site: string, signal: Signal, at: { startedMs: number; reply?: string }): void {
      pace.heard(site, signal, { ...at, nowMs: Date.now() });
    },
    /** Once a second: what was found and earned is written, what others have seen is read. */
    async sync(): Promise<void> {
      const saved = found;
      found = new Map();
      if (saved.size > 0) await saveDestinations(sql, [...saved.values()]);
      const growth = pace.takeGrowth();
      if (growth.length > 0) pace.adopt(await reportSites(sql, growth), Date.now());
      pace.join(await readDeliveryNodes(sql, deps.workerId()));
      const rows = await readSites(sql, since);
      since = rows[0]?.changedAt ?? since;
      pace.adopt(rows, Date.now());
    },
    onChange(listener: () => void): void {
      onChange = listener;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await telling;
    },
  };
}

/** The sites as the loop sees them. */
export function paceOf(sites: Sites) {
  const { pace } = sites;
  return {
    ...{ siteOf: sites.siteOf, onChange: sites.onChange },
    ...{ room: pace.room, roomAtMs: pace.roomAtMs, unproven: pace.unproven, took: pace.took, gave: pace.gave },
    async sync(destinations: readonly string[]) {
      await sites.learn(destinations);
      await sites.sync();
    },
  };
}

/** One row a site: what was seen last counts, and trouble over success. */
function merge(reports: readonly SiteReport[]): SiteReport[] {
  const bySite = new Map<string, SiteReport>();
  for (const report of reports) bySite.set(report.site, report);
  return [...bySite.values()];
}
