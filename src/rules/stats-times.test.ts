import assert from "node:assert/strict";
import { test } from "node:test";
import { addTimes, quantile, timeBounds, timesAt } from "./stats-times.ts";

/** As PostgreSQL's width_bucket puts a value: the number of bounds at or below it. */
const bucketOf = (ms: number) => timeBounds.filter((bound) => bound <= ms).length;
const histogram = (all: number[]) => all.map((ms) => timesAt(bucketOf(ms), 1)).reduce(addTimes, []);

test("the bounds rise from 0.1 s to more than two days", () => {
  assert.equal(timeBounds[0], 100);
  assert.ok(timeBounds.at(-1)! > 48 * 3_600_000);
  for (const [i, bound] of timeBounds.entries()) assert.ok(i === 0 || bound > timeBounds[i - 1]!);
});

test("histograms add up, whichever is longer", () => {
  assert.deepEqual(addTimes([1, 2], [0, 1, 4]), [1, 3, 4]);
  assert.deepEqual(addTimes([0, 1, 4], []), [0, 1, 4]);
  assert.deepEqual(timesAt(2, 7), [0, 0, 7]);
});

test("quantiles are right to about a fifth, also of a sum", () => {
  const fast = Array.from({ length: 900 }, (_, i) => 150 + i);
  const slow = Array.from({ length: 100 }, (_, i) => 60_000 + i * 1000);
  const sorted = [...fast, ...slow].sort((a, b) => a - b);
  const times = addTimes(histogram(fast), histogram(slow));
  for (const share of [0.05, 0.5, 0.9, 0.95, 0.99]) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
    const told = quantile(times, share)!;
    assert.ok(Math.abs(told / exact - 1) < 0.21, `p${share * 100}: ${told} for ${exact}`);
  }
});

test("the ends: nothing, everything at once, longer than all bounds", () => {
  assert.equal(quantile([], 0.5), undefined);
  assert.equal(quantile([0, 0], 0.5), undefined);
  assert.ok(quantile([10], 0.5)! <= 100);
  assert.equal(quantile(histogram([10 ** 12]), 0.5), timeBounds.at(-1));
});
