/** The pace of every site on this node: how many recipients may be in hand, how many connections may be open, and how replies change both.
 * Holds state and does no I/O; sites.ts synchronizes it with the other nodes. Time is an argument. */

import type { AnsweredStep } from "../../smtp/client/evidence.ts";
import { backOffMs, type SiteSignal, shareOf } from "../rules/pace.ts";
import type { createSiteLimits, SiteLimit } from "../rules/site.ts";
import { stallAfterMs, type Usual, withAnswer } from "../rules/stall.ts";
import type { KnownSite, SiteReport, SiteRow } from "../store/sites.ts";

/** Recipients in hand per connection. More than one, so that the next emails are read, composed and signed while the connection is busy. */
const recipientsPerConnection = { normal: 8, inTrouble: 2 };
/** After this many `slow` signals in a row at one connection, the site is backed off. */
const maxSlowInRow = 3;
/** Signals that arrive within this time halve the allowance once. */
const shrinkEveryMs = 1000;
/** Recipients in hand for a known site that has none: more only as it answers, because it may have stopped answering meanwhile. */
const firstWindow = 4;
/**
 * A fast receiver has nothing in hand for a moment whenever it has taken everything. So that it does not begin with four each time, it gets up to
 * twice as many as it has taken in about this time.
 */
const recentMs = 1000;
/** An answer is recorded in the store at most this often, so that the site counts as known after a restart. */
const recordEveryMs = 10 * 60_000;
const maxSites = 20_000;

type Site = {
  name: string;
  limit: SiteLimit;
  /** Connections of all nodes together. */
  allowance: number;
  /** Limits the recipients in hand on this node. 1 until the site answers, and doubles with each success. */
  ramp: number;
  /** A stall begins a new epoch. Recipients of earlier epochs are stuck: they do not keep a probe from being leased. */
  epoch: number;
  stuck: number;
  stalledSinceMs: number | undefined;
  usual: Usual;
  lastAnswerMs: number;
  /** When `takeKnown` last returned the site; undefined: something changed since. */
  recordedMs: number | undefined;
  failures: number;
  backOffUntilMs: number;
  shrunkAtMs: number;
  lastOkMs: number;
  /** Successes since `sinceMs`, for about as long as `recentMs`, and in the time before. */
  taken: { sinceMs: number; count: number; before: number };
  slowInRow: number;
  /** Recipients in hand of the current epoch. */
  inHand: number;
  tokens: { left: number; atMs: number };
  /** Connections earned by success but not reported yet. */
  growth: number;
};

export type PaceOptions = {
  limits: ReturnType<typeof createSiteLimits>;
  scheduleMs: readonly number[];
  random(): number;
  /** Called immediately with a change that the other nodes must know. */
  report(report: SiteReport): void;
};

export function createSitePace(options: PaceOptions) {
  const sites = new Map<string, Site>();
  let node = { rank: 0, nodes: 1 };

  function siteOf(name: string): Site {
    const known = sites.get(name);
    if (known) return known;
    if (sites.size >= maxSites) forgetSome(sites);
    const limit = options.limits(name);
    const site: Site = {
      name,
      limit,
      allowance: limit.connections,
      ramp: 1,
      epoch: 0,
      stuck: 0,
      stalledSinceMs: undefined,
      usual: {},
      lastAnswerMs: Number.NEGATIVE_INFINITY,
      recordedMs: Number.NEGATIVE_INFINITY,
      failures: 0,
      backOffUntilMs: Number.NEGATIVE_INFINITY,
      shrunkAtMs: Number.NEGATIVE_INFINITY,
      lastOkMs: Number.NEGATIVE_INFINITY,
      taken: { sinceMs: Number.NEGATIVE_INFINITY, count: 0, before: 0 },
      slowInRow: 0,
      inHand: 0,
      tokens: { left: Number.NaN, atMs: 0 },
      growth: 0,
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
    const burst = Math.max(1, perSecond);
    const earned = Number.isNaN(tokens.left) ? burst : tokens.left + ((nowMs - tokens.atMs) / 1000) * perSecond;
    site.tokens = { left: Math.min(burst, earned), atMs: nowMs };
    return site.tokens.left;
  }

  function backOff(site: Site, nowMs: number, reply: string | undefined): void {
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
    capacity(name: string, nowMs: number): number {
      const site = siteOf(name);
      if (site.backOffUntilMs > nowMs) return 0;
      const connections = connectionsOf(site);
      const each = inTrouble(site) ? recipientsPerConnection.inTrouble : recipientsPerConnection.normal;
      const free = Math.max(Math.min(1, connections), connections - site.stuck);
      if (site.inHand === 0) site.ramp = Math.min(site.ramp, Math.max(firstWindow, 2 * takenRecently(site, nowMs)));
      const limit = site.failures > 0 ? Math.min(1, connections) : Math.min(free * each, site.ramp);
      return Math.floor(Math.min(limit - site.inHand, refill(site, nowMs)));
    },
    /** The site has not answered yet, or not since its last failure: its recipients in hand may all time out. */
    unproven: (name: string) => siteOf(name).ramp === 1,
    /** When the back-off ends or the next token arrives; undefined when neither limits the site. */
    capacityAtMs(name: string, nowMs: number): number | undefined {
      const site = siteOf(name);
      if (site.backOffUntilMs > nowMs) return site.backOffUntilMs;
      const left = refill(site, nowMs);
      if (left >= 1) return undefined;
      return nowMs + ((1 - left) * 1000 * node.nodes) / site.limit.perSecond!;
    },
    /** Returns the epoch, for `finished`. */
    leased(name: string, recipients: number): number {
      const site = siteOf(name);
      site.inHand += recipients;
      site.tokens.left -= recipients;
      return site.epoch;
    },
    finished(name: string, recipients: number, epoch: number): void {
      const site = siteOf(name);
      if (epoch === site.epoch) site.inHand -= recipients;
      else site.stuck -= recipients;
    },
    /** For the connection pool: connections of this node, and messages per connection. */
    limitOf(name: string): { connections: number; perConnection: number | undefined } {
      const site = siteOf(name);
      // The probe of a stalled site gets a connection although the stuck ones may have taken all.
      const probe = site.stuck > 0 ? 1 : 0;
      return { connections: Math.max(1, connectionsOf(site)) + probe, perConnection: site.limit.perConnection };
    },

    /** The site replied, or a connection opened. */
    answered(name: string, step: AnsweredStep, at: { tookMs: number; nowMs: number }): void {
      const site = siteOf(name);
      site.lastAnswerMs = at.nowMs;
      site.usual = withAnswer(site.usual, step, at.tookMs);
    },
    /** True when a wait of this step has lasted too long and no session of the site has answered for as long. */
    isSilent(name: string, step: AnsweredStep, { waitedMs, nowMs }: { waitedMs: number; nowMs: number }): boolean {
      const site = siteOf(name);
      const limitMs = stallAfterMs(site.usual, step);
      return waitedMs >= limitMs && nowMs - site.lastAnswerMs >= limitMs;
    },
    /** The site stopped answering: it gets one recipient at a time until it accepts one. Returns true for a site that had answered. */
    stall(name: string, nowMs: number): boolean {
      const site = siteOf(name);
      if (site.stalledSinceMs === undefined) site.recordedMs = undefined;
      site.stalledSinceMs ??= nowMs;
      if (site.ramp === 1) return false;
      site.ramp = 1;
      site.epoch += 1;
      site.stuck += site.inHand;
      site.inHand = 0;
      return true;
    },
    /** Since when the site has not answered; undefined if it is not stalled. */
    stalledSinceMs: (name: string) => siteOf(name).stalledSinceMs,
    usualOf: (name: string) => siteOf(name).usual,

    /** Applies the signal of an attempt. Ignores trouble of an attempt that started before the last reduction, which covers it. */
    observe(name: string, signal: SiteSignal, at: { startedMs: number; nowMs: number; reply?: string }): void {
      const site = siteOf(name);
      const { startedMs, nowMs, reply } = at;
      if (signal === "none") return;
      if (signal === "ok") {
        if (site.recordedMs !== undefined && nowMs - site.recordedMs >= recordEveryMs) site.recordedMs = undefined;
        if (site.stalledSinceMs !== undefined) site.recordedMs = undefined;
        site.stalledSinceMs = undefined;
        site.lastOkMs = nowMs;
        countTaken(site, nowMs);
        site.slowInRow = 0;
        site.ramp = site.ramp > site.limit.connections * 10 ? Number.POSITIVE_INFINITY : site.ramp * 2;
        if (site.failures > 0) {
          site.failures = 0;
          site.backOffUntilMs = Number.NEGATIVE_INFINITY;
          options.report({ ...emptyReport(site), recovered: true });
        }
        if (site.allowance >= site.limit.connections) return;
        const earned = 1 / Math.max(1, site.allowance);
        site.growth += earned;
        site.allowance = Math.min(site.limit.connections, site.allowance + earned);
        return;
      }
      if (startedMs <= site.shrunkAtMs) return;
      if (signal === "down" && site.lastOkMs < startedMs) return backOff(site, nowMs, reply);
      if (signal === "slow") site.slowInRow += 1;
      if (site.allowance <= 1 && site.slowInRow >= maxSlowInRow) return backOff(site, nowMs, reply);
      if (nowMs - site.shrunkAtMs < shrinkEveryMs) return;
      site.allowance = Math.max(1, site.allowance / 2);
      site.growth = 0;
      site.shrunkAtMs = nowMs;
      options.report({ ...emptyReport(site), shrink: true, reply });
    },

    /** The growth of all sites since the last call, for the other nodes. */
    takeGrowth(): SiteReport[] {
      const reports: SiteReport[] = [];
      for (const site of sites.values()) {
        if (site.growth === 0) continue;
        reports.push({ ...emptyReport(site), growth: site.growth });
        site.growth = 0;
      }
      return reports;
    },

    /** What this node learned about sites since the last call, for a restart. */
    takeKnown(nowMs: number): KnownSite[] {
      const known: KnownSite[] = [];
      for (const site of sites.values()) {
        if (site.recordedMs !== undefined) continue;
        site.recordedMs = nowMs;
        known.push({ site: site.name, stalled: site.stalledSinceMs !== undefined, usual: site.usual });
      }
      return known;
    },

    /** Takes over the shared state of sites from the store. */
    adopt(rows: readonly SiteRow[], nowMs: number): void {
      for (const row of rows) {
        const isNew = !sites.has(row.site);
        const site = siteOf(row.site);
        if (isNew && row.usual) site.usual = row.usual;
        if (isNew && row.stalled) site.stalledSinceMs = nowMs;
        // The site answered this node before a restart, or another node.
        if (isNew && row.answered && !row.stalled) {
          site.ramp = firstWindow;
          site.recordedMs = nowMs;
        }
        site.allowance = Math.min(row.allowance ?? site.limit.connections, site.limit.connections) + site.growth;
        site.failures = row.failures;
        site.backOffUntilMs = row.backOffMs > 0 ? nowMs + row.backOffMs : Number.NEGATIVE_INFINITY;
        if (row.failures > 0) site.ramp = 1;
      }
    },
    /** This node's rank among the nodes that deliver, which decides its share of each limit. */
    setNode(position: { rank: number; nodes: number }): void {
      node = position;
    },
    /** Failures in a row, and the end of the back-off. */
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
  const noChange = { shrink: false, growth: 0, recovered: false, backOffMs: undefined, reply: undefined };
  return { site: name, cap: limit.connections, ...noChange };
}

/** Drops only idle sites without trouble. A dropped site that is needed again starts with one recipient. */
function forgetSome(sites: Map<string, Site>): void {
  for (const [name, site] of sites) {
    const idle = site.inHand + site.stuck === 0 && site.recordedMs !== undefined;
    if (idle && site.failures === 0 && site.allowance >= site.limit.connections) sites.delete(name);
    if (sites.size < maxSites / 2) return;
  }
}

function countTaken(site: Site, nowMs: number): void {
  const { sinceMs, count } = site.taken;
  const ageMs = nowMs - sinceMs;
  if (ageMs < recentMs) site.taken.count += 1;
  else site.taken = { sinceMs: nowMs, count: 1, before: ageMs < 2 * recentMs ? count : 0 };
}

function takenRecently({ taken: { sinceMs, count, before } }: Site, nowMs: number): number {
  const ageMs = nowMs - sinceMs;
  if (ageMs >= 2 * recentMs) return 0;
  return ageMs < recentMs ? Math.max(count, before) : count;
}
