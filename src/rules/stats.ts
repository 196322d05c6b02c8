/** Mail counted by the hour, in all and by receiving site: what an event adds, and which sites keep a row of their own. */
import { siteOf } from "./site.ts";
import { addTimes, type Times, timesAt } from "./stats-times.ts";

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

/** The counts of one hour: of the whole workspace, and of its sites. */
export type HourCounts = { all: Counts; sites: Map<string, Counts> };

/** Sites with counts of their own in an hour; the smallest of any more are added up under `otherSites`. */
export const sitesKept = 20;
export const otherSites = "other";

/** Events of one kind in one hour: how many recipients, at which server, and in which bucket of time they were delivered. */
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

/** The hour with one more group of events. Those of other types change nothing. */
export function addEvents(hour: HourCounts, group: EventGroup): HourCounts {
  if (!countedTypes.includes(group.type)) return hour;
  const added = noCounts();
  added[group.type.slice("email.".length) as CountName] = group.recipients;
  if (group.timeBucket !== null) added.times = timesAt(group.timeBucket, group.recipients);
  const site = group.remoteMx ? siteOf([{ host: group.remoteMx, preference: 0 }]) : undefined;
  const sites = new Map(hour.sites);
  if (site) sites.set(site, addCounts(sites.get(site) ?? noCounts(), added));
  return { all: addCounts(hour.all, added), sites };
}

/** Only the largest sites keep their name. One that grows later comes back with what it has from then on. */
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
  return counts.delivered + counts.sent + counts.bounced + counts.delayed;
}
