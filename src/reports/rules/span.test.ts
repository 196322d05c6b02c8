import assert from "node:assert/strict";
import { test } from "node:test";
import { dayMs, daySpan, dayStarts } from "./span.ts";

const noon = Date.UTC(2026, 10, 18, 12);
const midnight = Date.UTC(2026, 10, 19);

test("the default range is the last 30 days, in whole days", () => {
  const span = daySpan({ fromMs: undefined, toMs: undefined }, noon);
  assert.deepEqual(span, { fromMs: midnight - 31 * dayMs, toMs: midnight });
  assert.equal(dayStarts(span as { fromMs: number; toMs: number }).length, 31);
});

test("a range is widened to the days that it touches", () => {
  const span = daySpan({ fromMs: noon, toMs: noon + 1 }, noon);
  assert.deepEqual(span, { fromMs: midnight - dayMs, toMs: midnight });
});

test("an empty, a backward and a too long range are refused", () => {
  for (const [fromMs, toMs] of [
    [noon, noon],
    [noon, noon - 1],
    [noon - 401 * dayMs, noon],
  ] as const)
    assert.ok(Array.isArray(daySpan({ fromMs, toMs }, noon)), `${fromMs} ${toMs}`);
});

test("times that a date in the database cannot have are refused", () => {
  for (const [fromMs, toMs] of [
    [undefined, Date.UTC(1970, 0, 5)],
    [-dayMs, dayMs],
    [undefined, Date.UTC(9999, 11, 31, 12)],
    [undefined, 1e30],
    [Number.NaN, noon],
  ] as const)
    assert.ok(Array.isArray(daySpan({ fromMs, toMs }, noon)), `${fromMs} ${toMs}`);
});
