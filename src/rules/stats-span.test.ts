import assert from "node:assert/strict";
import { test } from "node:test";
import { type AskedSpan, bucketStarts, type StatsSpan, statsSpan } from "./stats-span.ts";

const now = Date.parse("2026-03-08T10:20:30.400Z");
const asked = (extra: Partial<AskedSpan> = {}): AskedSpan => ({
  ...{ fromMs: undefined, toMs: undefined, bucketHours: undefined },
  ...extra,
});
const told = (extra: Partial<AskedSpan>) => {
  const span = statsSpan(asked(extra), now) as StatsSpan;
  const starts = bucketStarts(span);
  return [new Date(span.fromMs).toISOString(), new Date(span.toMs).toISOString(), starts.length, span.bucketHours];
};
const daysAgo = (days: number) => now - days * 86_400_000;

test("whole buckets, those under way included", () => {
  assert.deepEqual(told({}), ["2026-03-07T10:00:00.000Z", "2026-03-08T11:00:00.000Z", 25, 1]);
  assert.deepEqual(told({ fromMs: daysAgo(7) }), ["2026-03-01T06:00:00.000Z", "2026-03-08T12:00:00.000Z", 29, 6]);
  assert.deepEqual(told({ fromMs: daysAgo(30) }), ["2026-02-06T00:00:00.000Z", "2026-03-09T00:00:00.000Z", 31, 24]);
  const exact = { fromMs: Date.parse("2026-03-01"), toMs: Date.parse("2026-03-08"), bucketHours: 24 } as const;
  assert.deepEqual(told(exact), ["2026-03-01T00:00:00.000Z", "2026-03-08T00:00:00.000Z", 7, 24]);
});

test("a span that ends before it begins, and one with too many buckets, are named", () => {
  assert.match(JSON.stringify(statsSpan(asked({ fromMs: now, toMs: now }), now)), /"from"/);
  assert.match(JSON.stringify(statsSpan(asked({ fromMs: daysAgo(40), bucketHours: 1 }), now)), /"bucket".*961 buckets/);
  assert.match(JSON.stringify(statsSpan(asked({ fromMs: Date.parse("0001-01-01") }), now)), /"bucket"/);
  assert.ok("fromMs" in statsSpan(asked({ fromMs: daysAgo(700) }), now));
});
