/**
 * Rules of the statistics: what an event adds to the counts of its hour, site and groups, which sites and values keep their own row,
 * which time buckets a request covers, and the histogram of delivery times. Called by service.ts and store/. rules/rates.ts has the rates.
 */
import { siteOfHost } from "../dns/site.ts";
import type { Violation } from "../ops/problem.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const maxBuckets = 800;

export const countNames = [
  "emails",
  "accepted",
  "delivered",
  "sent",
  "bounced",
  "delayed",
  "complained",
  "suppressed",
  "failed",
  "canceled",
] as const;
export type CountName = (typeof countNames)[number];

export type Counts = Record<CountName, number> & { times: Times };

/** The counts of one hour: of the whole workspace and of each site. */
export type HourCounts = { all: Counts; sites: Map<string, Counts> };

/** How many sites have their own counts in an hour. The smaller ones beyond that are added up as `otherSites`. */
export const sitesKept = 20;
export const otherSites = "other";

/** How many values of a dimension have their own counts in an hour, and in an answer. A tenant may send a new value with each email. */
export const valuesKept = 100;
/** Stored values begin with "=", so that none of them is the key of the rest. */
export const otherValues = otherSites;
/** A longer value counts with the rest: it would not fit into an index. */
export const longestValue = 200;

/** The dimension of all mail that is not of test keys, for alerts. */
export const liveDimension = "live";
export const metadataDimension = (key: string) => `metadata:${key}`;

/** Events of one type in one hour with the same server and delivery time bucket, and the number of their recipients. */
export type EventGroup = { type: string; remoteMx: string | null; timeBucket: number | null; recipients: number };

export const countedTypes: readonly string[] = countNames
  .filter((name) => name !== "emails" && name !== "accepted")
  .map((name) => `email.${name}`);

export function noCounts(): Counts {
  const zeros = Object.fromEntries(countNames.map((name) => [name, 0])) as Record<CountName, number>;
  return { ...zeros, times: [] };
}

export function addCounts(a: Counts, b: Counts): Counts {
  const sums = Object.fromEntries(countNames.map((name) => [name, a[name] + b[name]])) as Record<CountName, number>;
  return { ...sums, times: addTimes(a.times, b.times) };
}

/** Adds a group of events to an hour, in place: an hour may have thousands of sites. Event types that are not counted change nothing. */
export function addEvents(hour: HourCounts, group: EventGroup): void {
  const added = countsOf(group);
  if (!added) return;
  hour.all = addCounts(hour.all, added);
  const site = siteOfEvents(group);
  if (site) hour.sites.set(site, addCounts(hour.sites.get(site) ?? noCounts(), added));
}

/** The site at which the events count. */
export function siteOfEvents({ type, remoteMx }: Pick<EventGroup, "type" | "remoteMx">): string | undefined {
  return countedTypes.includes(type) && remoteMx ? siteOfHost(remoteMx) || undefined : undefined;
}

/** What events of one type count. Undefined: the type is not counted. */
export function countsOf({ type, timeBucket, recipients }: Omit<EventGroup, "remoteMx">): Counts | undefined {
  if (!countedTypes.includes(type)) return undefined;
  const counts = noCounts();
  counts[type.slice("email.".length) as CountName] = recipients;
  if (timeBucket !== null) counts.times = timesAt(timeBucket, recipients);
  return counts;
}

/** Only the largest sites keep their own counts. A site that grows later reappears with its counts from then on. */
export function keepLargest(sites: ReadonlyMap<string, Counts>, kept = sitesKept): Map<string, Counts> {
  const named = [...sites].filter(([site]) => site !== otherSites);
  const sorted = named.sort(([nameA, a], [nameB, b]) => weight(b) - weight(a) || (nameA < nameB ? -1 : 1));
  const rest = [...sorted.slice(kept).map(([, counts]) => counts), ...others(sites)];
  const result = new Map(sorted.slice(0, kept));
  if (rest.length > 0) result.set(otherSites, rest.reduce(addCounts));
  return result;
}

function others(sites: ReadonlyMap<string, Counts>): Counts[] {
  const counts = sites.get(otherSites);
  return counts ? [counts] : [];
}

function weight(counts: Counts): number {
  return counts.accepted + counts.delivered + counts.sent + counts.bounced + counts.delayed;
}

export type BucketHours = 1 | 6 | 24;
/** The time range of an answer: whole buckets, in UTC. */
export type StatsSpan = { fromMs: number; toMs: number; bucketHours: BucketHours };

export type RequestedSpan = {
  fromMs: number | undefined;
  toMs: number | undefined;
  bucketHours: BucketHours | undefined;
};

/** Extends the requested range to whole buckets and fills in defaults, or returns what is wrong with it. */
export function statsSpan(requested: RequestedSpan, nowMs: number): StatsSpan | Violation[] {
  const toMs = requested.toMs ?? nowMs;
  const fromMs = requested.fromMs ?? toMs - dayMs;
  if (fromMs >= toMs)
    return [{ field: "from", description: "must be before `to`; leave both out for the last 24 hours" }];
  const bucketHours = requested.bucketHours ?? defaultBucketHours(toMs - fromMs);
  const bucketMs = bucketHours * hourMs;
  const span = {
    fromMs: Math.floor(fromMs / bucketMs) * bucketMs,
    toMs: Math.ceil(toMs / bucketMs) * bucketMs,
    bucketHours,
  };
  const buckets = (span.toMs - span.fromMs) / bucketMs;
  if (buckets <= maxBuckets) return span;
  const description = `gives ${buckets} buckets, but at most ${maxBuckets} are allowed; choose a larger bucket or a shorter time range`;
  return [{ field: "bucket", description }];
}

/** Chosen so that a chart has enough buckets, but not too many. */
function defaultBucketHours(lengthMs: number): BucketHours {
  if (lengthMs <= 2 * dayMs) return 1;
  return lengthMs <= 14 * dayMs ? 6 : 24;
}

/** The start times of all buckets. */
export function bucketStarts({ fromMs, toMs, bucketHours }: StatsSpan): number[] {
  const bucketMs = bucketHours * hourMs;
  return Array.from({ length: (toMs - fromMs) / bucketMs }, (_, i) => fromMs + i * bucketMs);
}

/** Upper bounds of the delivery time buckets in ms, each √2 times the previous: from 0.1 s to more than the two days of retries. */
export const timeBounds: readonly number[] = Array.from({ length: 43 }, (_, i) => Math.round(100 * 2 ** (i / 2)));

/** A histogram of delivery times: the count of each bucket, without trailing zeros. Histograms of hours and sites can be added. */
export type Times = readonly number[];

export function addTimes(a: Times, b: Times): number[] {
  const [long, short] = a.length >= b.length ? [a, b] : [b, a];
  return long.map((count, i) => count + (short[i] ?? 0));
}

/** A histogram with `count` deliveries in one bucket. */
export function timesAt(bucket: number, count: number): number[] {
  const times = new Array<number>(bucket + 1).fill(0);
  times[bucket] = count;
  return times;
}

/** The time within which a share of the deliveries finished, interpolated on a log scale within its bucket. */
export function quantile(times: Times, share: number): number | undefined {
  const total = times.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let below = 0;
  for (const [bucket, count] of times.entries()) {
    if (count > 0 && below + count >= share * total) return interpolate(bucket, (share * total - below) / count);
    below += count;
  }
  return undefined;
}

function interpolate(bucket: number, part: number): number {
  const upper = timeBounds[bucket];
  const lower = timeBounds[bucket - 1];
  if (upper === undefined) return lower!;
  return Math.round(lower === undefined ? upper * part : lower * (upper / lower) ** part);
}
