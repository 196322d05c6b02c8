/** The pace at every site on this node: how many recipients may be in hand, how many connections open, and what answers change. Holds
 * state, does no I/O; sites.ts keeps it in step with the other nodes. Time is an argument. */
import type { createSiteLimits, SiteLimit } from "../rules/site-limits.ts";
import { backOffMs, type Signal, shareOf } from "../rules/site-pace.ts";
import type { SiteReport, SiteRow } from "../store/sites.ts";

/** Recipients in hand for each connection: the next ones are read, composed and signed while it talks. */
const perConnection = { well: 8, inTrouble: 2 };
/** A site that asks for less this often in a row, at one connection already, is left alone for a while. */
const slowEnough = 3;
/** One cut answers all that is heard at the same time. */
const shrinkEveryMs = 1000;
const sitesKept = 20_000;

type Site = {
  name: string;
  limit: SiteLimit;
  /** Connections of all nodes together. */
  allowance: number;
  /** Of this node: a site is not trusted with much before it has answered. */
  ramp: number;
  failures: number;
  backOffUntilMs: number;
  shrunkAtMs: number;
  wellAtMs: number;
  slowInRow: number;
  inHand: number;
  tokens: { left: number; atMs: number };
  /** Success that was not reported yet. */
  growth: number;
};

export type PaceOptions = {
  limits: ReturnType<typeof createSiteLimits>;
  scheduleMs: readonly number[];
  random(): number;
  /** Called at once with what the other nodes must know. */
  report(report: SiteReport): void;
};

export type SitePace = ReturnType<typeof createSitePace>;

export function createSitePace(options: PaceOptions) {
  const sites = new Map<string, Site>();
  let node = { rank: 0, nodes: 1 };

  function siteOf(name: string): Site {
    const known = sites.get(name);
    if (known) return known;
    if (sites.size >= sitesKept) forgetSome(sites);
    const limit = options.limits(name);
    const site: Site = {
      ...{
        name,
        limit,
        allowance: limit.connections,
        ramp: 1,
        failures: 0,
        backOffUntilMs: 0,
        shrunkAtMs: 0,
        wellAtMs: 0,
      },
      ...{ slowInRow: 0, inHand: 0, tokens: { left: Number.NaN, atMs: 0 }, growth: 0 },
    };
    sites.set(name, site);
    return site;
  }

  const inTrouble = (site: Site) => site.failures > 0 || site.allowance < site.limit.connections;
  const connectionsOf = (site: Site) => shareOf(site.failures > 0 ? 1 : Math.floor(site.allowance), node, site.name);

  function refill(site: Site, nowMs: number): number {
    const perSecond = (site.limit.perSecond ?? Number.POSITIVE_INFINITY) / node.nodes;
    if (perSecond === Number.POSITIVE_INFINITY) return perSecond;
    const { tokens } = site;
    const most = Math.max(1, perSecond);
    const earned = Number.isNaN(tokens.left) ? most : tokens.left + ((nowMs - tokens.atMs) / 1000) * perSecond;
    site.tokens = { left: Math.min(most, earned), atMs: nowMs };
    return site.tokens.left;
  }

  function leaveAlone(site: Site, nowMs: number, reply: string | undefined): void {
    site.failures += 1;
    const waitMs = backOffMs(site.failures, options.scheduleMs, options.random);
    Object.assign(site, {
      allowance: 1,
      ramp: 1,
      slowInRow: 0,
      growth: 0,
      shrunkAtMs: nowMs,
      backOffUntilMs: nowMs + waitMs,
    });
    options.report({ ...emptyReport(site), backOffMs: waitMs, reply });
  }

  return {
    /** Recipients that may still be leased for the site now. */
    room(name: string, nowMs: number): number {
      const site = siteOf(name);
      if (site.backOffUntilMs > nowMs) return 0;
      const connections = connectionsOf(site);
      const each = inTrouble(site) ? perConnection.inTrouble : perConnection.well;
      const most = site.failures > 0 ? Math.min(1, connections) : Math.min(connections * each, site.ramp);
      return Math.floor(Math.min(most - site.inHand, refill(site, nowMs)));
    },
    /** It has not answered yet, or not lately: what is in hand there may come to nothing. */
    unproven: (name: string) => siteOf(name).ramp === 1,
    /** When time alone may give room; undefined where something has to happen first. */
    roomAtMs(name: string, nowMs: number): number | undefined {
      const site = siteOf(name);
      if (site.backOffUntilMs > nowMs) return site.backOffUntilMs;
      const left = refill(site, nowMs);
      if (left >= 1) return undefined;
      return nowMs + ((1 - left) * 1000 * node.nodes) / site.limit.perSecond!;
    },
    took(name: string, recipients: number): void {
      const site = siteOf(name);
      site.inHand += recipients;
      site.tokens.left -= recipients;
    },
    gave(name: string, recipients: number): void {
      siteOf(name).inHand -= recipients;
    },
    /** For the pool: connections of this node, and messages on each. */
    limitOf(name: string): { connections: number; perConnection: number | undefined } {
      const site = siteOf(name);
      return { connections: Math.max(1, connectionsOf(site)), perConnection: site.limit.perConnection };
    },

    /** What an attempt that began at `startedMs` says about the site. What began before the last cut has been paid for by it. */
    heard(name: string, signal: Signal, at: { startedMs: number; nowMs: number; reply?: string }): void {
      const site = siteOf(name);
      const { startedMs, nowMs, reply } = at;
      if (signal === "nothing") return;
      if (signal === "well") {
        site.wellAtMs = nowMs;
        site.slowInRow = 0;
        site.ramp = site.ramp > site.limit.connections * 10 ? Number.POSITIVE_INFINITY : site.ramp * 2;
        if (site.failures > 0) {
          site.failures = 0;
          site.backOffUntilMs = 0;
          options.report({ ...emptyReport(site), well: true });
        }
        if (site.allowance >= site.limit.connections) return;
        const earned = 1 / Math.max(1, site.allowance);
        site.growth += earned;
        site.allowance = Math.min(site.limit.connections, site.allowance + earned);
        return;
      }
      if (startedMs <= site.shrunkAtMs) return;
      if (signal === "down" && site.wellAtMs < startedMs) return leaveAlone(site, nowMs, reply);
      if (signal === "slow") site.slowInRow += 1;
      if (site.allowance <= 1 && site.slowInRow >= slowEnough) return leaveAlone(site, nowMs, reply);
      if (nowMs - site.shrunkAtMs < shrinkEveryMs) return;
      site.allowance = Math.max(1, site.allowance / 2);
      site.growth = 0;
      site.shrunkAtMs = nowMs;
      options.report({ ...emptyReport(site), shrink: true, reply });
    },

    /** What success has earned since the last time, for the other nodes. */
    takeGrowth(): SiteReport[] {
      const reports: SiteReport[] = [];
      for (const site of sites.values()) {
        if (site.growth === 0) continue;
        reports.push({ ...emptyReport(site), growth: site.growth });
        site.growth = 0;
      }
      return reports;
    },

    /** What all nodes together know. */
    adopt(rows: readonly SiteRow[], nowMs: number): void {
      for (const row of rows) {
        const site = siteOf(row.site);
        site.allowance = Math.min(row.allowance ?? site.limit.connections, site.limit.connections) + site.growth;
        site.failures = row.failures;
        site.backOffUntilMs = row.backOffMs > 0 ? nowMs + row.backOffMs : 0;
        if (row.failures > 0) site.ramp = 1;
      }
    },
    join(place: { rank: number; nodes: number }): void {
      node = place;
    },
    /** Failures in a row, and until when it is left alone. */
    troubleOf(name: string): { failures: number; untilMs: number } {
      const site = siteOf(name);
      return { failures: site.failures, untilMs: site.backOffUntilMs };
    },
    /** For metrics. */
    inTrouble: () => [...sites.values()].filter(inTrouble).length,
  };
}

function emptyReport(site: Site): SiteReport {
  const { name, limit } = site;
  const nothing = { shrink: false, growth: 0, well: false, backOffMs: undefined, reply: undefined };
  return { site: name, cap: limit.connections, ...nothing };
}

/** Only what is well and idle may be forgotten: it would be found the same again. */
function forgetSome(sites: Map<string, Site>): void {
  for (const [name, site] of sites) {
    if (site.inHand === 0 && site.failures === 0 && site.allowance >= site.limit.connections) sites.delete(name);
    if (sites.size < sitesKept / 2) return;
  }
}
