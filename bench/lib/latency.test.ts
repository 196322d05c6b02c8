import assert from "node:assert/strict";
import test from "node:test";
import { median, percentiles } from "./latency.ts";

test("the median of an odd and of an even number of values", () => {
  assert.equal(median([9, 1, 3]), 3);
  assert.equal(median([9, 1, 3, 5]), 4);
  assert.equal(median([7]), 7);
});

test("percentiles", () => {
  const times = Array.from({ length: 400 }, (_, i) => 400 - i);
  assert.deepEqual(percentiles(times), { p50: 201, p99: 397, longest: 400 });
});
