import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addCounts,
  addEvents,
  addTimes,
  bucketStarts,
  type Counts,
  type EventGroup,
  keepLargest,
  noCounts,
  otherSites,
  quantile,
  type RequestedSpan,
  type StatsSpan,
  statsSpan,
  timeBounds,
  timesAt,
} from "./rules.ts";

const group = (type: string, extra: Partial<EventGroup> = {}): EventGroup => ({
  type,
  remoteMx: null,
  timeBucket: null,
  recipients: 1,
  ...extra,
});
const delivered = (count: number): Counts => ({ ...noCounts(), delivered: count });

test("an event counts by its type, in the total and at the site of its server", () => {
  const hour = { all: noCounts(), sites: new Map<string, Counts>() };
  const mx = "ASPMX.L.GOOGLE.COM.";
  addEvents(hour, group("email.delivered", { remoteMx: mx, timeBucket: 2, recipients: 3 }));
  addEvents(hour, group("email.bounced", { remoteMx: "alt1.aspmx.l.google.com", recipients: 2 }));
  addEvents(hour, group("email.delayed", { remoteMx: "" }));
  addEvents(hour, group("email.complained"));
  for (const type of ["email.replied", "email.received", "domain.updated", "email.emails", "email.accepted"])
    addEvents(hour, group(type));
  assert.deepEqual(hour.all, { ...noCounts(), delivered: 3, bounced: 2, delayed: 1, complained: 1, times: [0, 0, 3] });
  assert.deepEqual([...hour.sites], [["google.com", { ...noCounts(), delivered: 3, bounced: 2, times: [0, 0, 3] }]]);
});

test("the largest sites keep their counts, and the rest is added up without loss", () => {
  const sites = new Map([
    ["small.test", delivered(1)],
    ["large.test", delivered(9)],
    [otherSites, delivered(50)],
    ["tiny.test", delivered(1)],
    ["middle.test", { ...noCounts(), delayed: 4 }],
  ]);
  const kept = keepLargest(sites, 2);
  assert.deepEqual([...kept.keys()], ["large.test", "middle.test", otherSites]);
  assert.equal(kept.get(otherSites)!.delivered, 52);
  assert.deepEqual([...kept.values()].reduce(addCounts), [...sites.values()].reduce(addCounts));
  assert.deepEqual([...keepLargest(kept, 2).keys()], [...kept.keys()], "a second pass changes nothing");
  assert.deepEqual([...keepLargest(new Map([["a.test", delivered(1)]])).keys()], ["a.test"]);
});

const now = Date.parse("2026-03-08T10:20:30.400Z");
const requested = (extra: Partial<RequestedSpan> = {}): RequestedSpan => ({
  fromMs: undefined,
  toMs: undefined,
  bucketHours: undefined,
  ...extra,
});
const answered = (extra: Partial<RequestedSpan>) => {
  const span = statsSpan(requested(extra), now) as StatsSpan;
  const starts = bucketStarts(span);
  return [new Date(span.fromMs).toISOString(), new Date(span.toMs).toISOString(), starts.length, span.bucketHours];
};
const daysAgo = (days: number) => now - days * 86_400_000;

test("a span covers whole buckets, including the current one", () => {
  assert.deepEqual(answered({}), ["2026-03-07T10:00:00.000Z", "2026-03-08T11:00:00.000Z", 25, 1]);
  assert.deepEqual(answered({ fromMs: daysAgo(7) }), ["2026-03-01T06:00:00.000Z", "2026-03-08T12:00:00.000Z", 29, 6]);
  assert.deepEqual(answered({ fromMs: daysAgo(30) }), ["2026-02-06T00:00:00.000Z", "2026-03-09T00:00:00.000Z", 31, 24]);
  const exact = { fromMs: Date.parse("2026-03-01"), toMs: Date.parse("2026-03-08"), bucketHours: 24 } as const;
  assert.deepEqual(answered(exact), ["2026-03-01T00:00:00.000Z", "2026-03-08T00:00:00.000Z", 7, 24]);
});

test("an empty span or one with too many buckets is rejected with the field at fault", () => {
  assert.match(JSON.stringify(statsSpan(requested({ fromMs: now, toMs: now }), now)), /"from"/);
  assert.match(
    JSON.stringify(statsSpan(requested({ fromMs: daysAgo(40), bucketHours: 1 }), now)),
    /"bucket".*961 buckets/,
  );
  assert.match(JSON.stringify(statsSpan(requested({ fromMs: Date.parse("0001-01-01") }), now)), /"bucket"/);
  assert.ok("fromMs" in statsSpan(requested({ fromMs: daysAgo(700) }), now));
});

/** Like PostgreSQL's width_bucket: the number of bounds at or below the value. */
const bucketOf = (ms: number) => timeBounds.filter((bound) => bound <= ms).length;
const histogram = (all: number[]) => all.map((ms) => timesAt(bucketOf(ms), 1)).reduce(addTimes, []);

test("the bounds rise from 0.1 s to more than two days", () => {
  assert.equal(timeBounds[0], 100);
  assert.ok(timeBounds.at(-1)! > 48 * 3_600_000);
  for (const [i, bound] of timeBounds.entries()) assert.ok(i === 0 || bound > timeBounds[i - 1]!);
});

test("histograms of different lengths can be added", () => {
  assert.deepEqual(addTimes([1, 2], [0, 1, 4]), [1, 3, 4]);
  assert.deepEqual(addTimes([0, 1, 4], []), [0, 1, 4]);
  assert.deepEqual(timesAt(2, 7), [0, 0, 7]);
});

test("quantiles are within 21 % of the exact value, also for a sum of histograms", () => {
  const fast = Array.from({ length: 900 }, (_, i) => 150 + i);
  const slow = Array.from({ length: 100 }, (_, i) => 60_000 + i * 1000);
  const sorted = [...fast, ...slow].sort((a, b) => a - b);
  const times = addTimes(histogram(fast), histogram(slow));
  for (const share of [0.05, 0.5, 0.9, 0.95, 0.99]) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
    const estimate = quantile(times, share)!;
    assert.ok(Math.abs(estimate / exact - 1) < 0.21, `p${share * 100}: ${estimate} for ${exact}`);
  }
});

test("a quantile is defined for one bucket and above the last bound, and undefined without deliveries", () => {
  assert.equal(quantile([], 0.5), undefined);
  assert.equal(quantile([0, 0], 0.5), undefined);
  assert.ok(quantile([10], 0.5)! <= 100);
  assert.equal(quantile(histogram([10 ** 12]), 0.5), timeBounds.at(-1));
});
