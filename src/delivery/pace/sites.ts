/** Maps destinations to sites by DNS, and synchronizes both the mapping and the pace of each site with the other nodes through the store.
 * The delivery loop and the paced transport use it. */

import { siteOf } from "../../dns/site.ts";
import type { Log } from "../../ops/log.ts";
import { isDatabaseAway, type Sql } from "../../postgres/pool.ts";
import { createBudget } from "../../shares/budget.ts";
import { findHosts, type RouteDeps } from "../../smtp/client/route.ts";
import type { SiteSignal } from "../rules/pace.ts";
import type { SiteLimit } from "../rules/site.ts";
import {
  type KnownSite,
  readDeliveryNodes,
  readDestinations,
  readSites,
  reportSites,
  type SiteReport,
  saveDestinations,
  saveKnownSites,
} from "../store/sites.ts";
import { createSitePace } from "./site-pace.ts";

/** How long the site of a destination is cached. Domains rarely change their mail provider; a failed lookup is retried soon. */
const ttlMs = { found: 3_600_000, failed: 30_000 };
const maxDestinations = 100_000;
/** Concurrent DNS lookups. Other destinations wait for one to end, the workspaces in turn; destinations with a known site do not wait. */
const maxLookups = 100;
/** A single workspace can use half of the lookups. */
const lookupFactor = 1;

export type SitesDeps = {
  sql: Sql;
  log: Log;
  route: RouteDeps;
  workerId(): number;
  limits: (site: string) => SiteLimit;
  scheduleMs: readonly number[];
  random(): number;
  /** The site of every destination (a relay); undefined in direct mode. */
  single: string | undefined;
  /** The relay for the listed sites, and for a site after `afterFailures` failures in a row. */
  fallback: { site: string; sites: ReadonlySet<string>; afterFailures: number } | undefined;
};

export type Sites = ReturnType<typeof createSites>;

export function createSites(deps: SitesDeps) {
  const { sql, log } = deps;
  const known = new Map<string, { site: string; untilMs: number }>();
  /** By workspace and domain, so that no workspace waits for another one's turn. */
  const resolving = new Set<string>();
  const lookups = createBudget({ total: maxLookups, factor: lookupFactor });
  const stopping = new AbortController();
  /** Found by this node and not written to the store yet. */
  let unsaved = new Map<string, { domain: string; site: string; ttlMs: number }>();
  /** What this node learned about sites, until it is in the store. */
  const unrecorded = new Map<string, KnownSite>();
  let onChange = () => {};
  let changedSince: string | undefined;
  let reports: SiteReport[] = [];
  let flushing: Promise<void> = Promise.resolve();
  const pace = createSitePace({
    limits: deps.limits,
    scheduleMs: deps.scheduleMs,
    random: deps.random,
    report(report) {
      reports.push(report);
      flushing = flushing.then(flushReports);
    },
  });

  async function flushReports(): Promise<void> {
    const batch = reports;
    reports = [];
    if (batch.length === 0) return;
    try {
      pace.adopt(await reportSites(sql, merge(batch)), performance.now());
    } catch (error) {
      // This node keeps its own view; the other nodes make the same observation themselves.
      if (!isDatabaseAway(error)) log.warn({ err: error }, "cannot share the state of a site with the other nodes");
    }
    onChange();
  }

  async function resolve(domain: string, workspaceId: string): Promise<void> {
    const key = `${workspaceId} ${domain}`;
    resolving.add(key);
    let taken = false;
    try {
      await lookups.take(workspaceId, 1, stopping.signal);
      taken = true;
      // Another workspace may have found it meanwhile.
      if (isCurrent(domain)) return;
      const route = await findHosts(domain, deps.route, stopping.signal);
      const site = "hosts" in route ? siteOf(route.hosts) : undefined;
      remember(domain, site ?? domain, site ? ttlMs.found : ttlMs.failed);
      if (site) unsaved.set(domain, { domain, site, ttlMs: ttlMs.found });
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.warn({ err: error, domain }, "cannot find the site of a destination; the lookup will be retried");
      remember(domain, domain, ttlMs.failed);
    } finally {
      resolving.delete(key);
      if (taken) lookups.give(workspaceId, 1);
      onChange();
    }
  }

  function isCurrent(domain: string): boolean {
    return (known.get(domain)?.untilMs ?? 0) > performance.now();
  }

  function remember(domain: string, site: string, forMs: number): void {
    if (known.size >= maxDestinations) known.clear();
    known.set(domain, { site, untilMs: performance.now() + forMs });
  }

  function ownSite(domain: string, workspaceId: string): string | undefined {
    if (deps.single !== undefined) return deps.single;
    if (!isCurrent(domain) && !resolving.has(`${workspaceId} ${domain}`)) void resolve(domain, workspaceId);
    // An expired entry is used until DNS has answered again.
    return known.get(domain)?.site;
  }

  /** Why the fallback relay serves the site; undefined when it does not. When the back-off ends, one recipient probes the site directly. */
  function fallbackReason(site: string): string | undefined {
    if (!deps.fallback) return undefined;
    if (deps.fallback.sites.has(site)) return `mail for ${site} is configured to go through the relay`;
    const { failures, untilMs } = pace.troubleOf(site);
    if (failures < deps.fallback.afterFailures || untilMs <= performance.now()) return undefined;
    return `${site} has failed ${failures} times in a row`;
  }

  return {
    pace,
    /** The site that serves a destination; undefined during the first DNS lookup, after which the `onChange` listener is called. */
    siteOf(domain: string, workspaceId: string): string | undefined {
      const site = ownSite(domain, workspaceId);
      return site !== undefined && fallbackReason(site) !== undefined ? deps.fallback!.site : site;
    },
    /** Why the relay serves a destination, for the event. */
    relayReason(domain: string): string {
      const site = known.get(domain)?.site ?? domain;
      return fallbackReason(site) ?? `${site} has failed repeatedly`;
    },
    /** Reads the sites that other nodes have found, which saves the DNS lookups. */
    async loadDestinations(domains: readonly string[]): Promise<void> {
      if (deps.single !== undefined) return;
      const unknown = domains.filter((domain) => !known.has(domain));
      if (unknown.length === 0) return;
      for (const row of await readDestinations(sql, unknown)) remember(row.domain, row.site, row.ttlMs);
    },
    /** The MX lookup of a destination failed: it is a site of its own until DNS answers, so that its trouble is not that of its site. */
    leaveSite(domain: string): string {
      remember(domain, domain, ttlMs.failed);
      return domain;
    },
    observe(site: string, signal: SiteSignal, at: { startedMs: number; reply?: string }): void {
      pace.observe(site, signal, { ...at, nowMs: performance.now() });
    },
    /** Writes this node's findings and growth to the store, and reads those of the other nodes. Called about once a second. */
    async sync(): Promise<void> {
      const found = unsaved;
      unsaved = new Map();
      if (found.size > 0) await saveDestinations(sql, [...found.values()]);
      for (const site of pace.takeKnown(performance.now())) unrecorded.set(site.site, site);
      if (unrecorded.size > 0) {
        const learned = [...unrecorded.values()];
        await saveKnownSites(sql, learned);
        for (const site of learned) if (unrecorded.get(site.site) === site) unrecorded.delete(site.site);
      }
      const growth = pace.takeGrowth();
      if (growth.length > 0) pace.adopt(await reportSites(sql, growth), performance.now());
      pace.setNode(await readDeliveryNodes(sql, deps.workerId()));
      const rows = await readSites(sql, changedSince);
      changedSince = rows[0]?.changedAt ?? changedSince;
      pace.adopt(rows, performance.now());
    },
    onChange(listener: () => void): void {
      onChange = listener;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await flushing;
    },
  };
}

/** The part of the sites that the delivery loop uses. */
export function paceOf(sites: Sites) {
  const { pace } = sites;
  return {
    siteOf: sites.siteOf,
    onChange: sites.onChange,
    capacity: pace.capacity,
    capacityAtMs: pace.capacityAtMs,
    unproven: pace.unproven,
    isSilent: pace.isSilent,
    stall: pace.stall,
    leased: pace.leased,
    finished: pace.finished,
    async sync(destinations: readonly string[]) {
      await sites.loadDestinations(destinations);
      await sites.sync();
    },
  };
}

/** One report per site: the last one wins. */
function merge(reports: readonly SiteReport[]): SiteReport[] {
  const bySite = new Map<string, SiteReport>();
  for (const report of reports) bySite.set(report.site, report);
  return [...bySite.values()];
}
