import assert from "node:assert/strict";
import { test } from "node:test";
import { countCeiling, formatCompact, formatDuration, formatRate, meterScale } from "./scale.ts";

test("axes end at round numbers that are not below any value", () => {
  const ceilings = [[], [0], [1], [2], [3], [7], [10], [11], [49, 51], [4999]].map(countCeiling);
  assert.deepEqual(ceilings, [1, 1, 1, 2, 3, 8, 10, 12, 60, 5000]);
});

test("durations and counts are formatted briefly", () => {
  assert.deepEqual([0, 80, 999, 1000, 1540, 12_345, 90_000, 5_400_000].map(formatDuration), [
    "0 ms",
    "80 ms",
    "999 ms",
    "1 s",
    "1.5 s",
    "12 s",
    "1.5 min",
    "1.5 h",
  ]);
  assert.deepEqual([5, 1200, 2_000_000].map(formatCompact), ["5", "1.2K", "2M"]);
});

test("rates are as exact as their limits, and no rate looks like none or all", () => {
  assert.deepEqual([undefined, 0, 0.00001, 0.0005, 0.00312, 0.0153, 0.981, 0.9996, 1].map(formatRate), [
    "–",
    "0 %",
    "< 0.01 %",
    "0.05 %",
    "0.31 %",
    "1.5 %",
    "98.1 %",
    "> 99.9 %",
    "100 %",
  ]);
});

test("a meter shows its limit, also when the rate is above it", () => {
  const below = meterScale(0.01, 0.05);
  assert.ok(below.length < 20 && below.limitAt > 97 && below.limitAt < 100);
  const above = meterScale(0.2, 0.05);
  assert.ok(above.length > 97 && above.length < 100 && above.limitAt < 25);
});
