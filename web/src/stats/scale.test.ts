import assert from "node:assert/strict";
import { test } from "node:test";
import { countCeiling, durationCeiling, formatCompact, formatDuration, formatShare, line } from "./scale.ts";

test("axes end at round numbers that are not below any value", () => {
  const ceilings = [[], [0], [1], [2], [3], [7], [10], [11], [49, 51], [4999]].map(countCeiling);
  assert.deepEqual(ceilings, [1, 1, 1, 2, 5, 10, 10, 20, 100, 5000]);
  assert.deepEqual([[], [150], [900], [31_000], [3_600_000], [200 * 3_600_000 - 1]].map(durationCeiling), [
    200,
    200,
    1000,
    60_000,
    3_600_000,
    200 * 3_600_000,
  ]);
});

test("durations, counts and shares are formatted briefly", () => {
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
  assert.deepEqual([formatShare(1, 3), formatShare(0, 0), formatShare(2, 2)], ["33.3%", "", "100%"]);
});

test("a line has gaps without data, and a single value is visible", () => {
  assert.equal(line([undefined, 1, undefined, 2, 4], 4), "M1 0.75L1.5 0.75L2 0.75M3 0.5L3.5 0.5L4.5 0L5 0");
  assert.equal(line([undefined], 1), "");
});
