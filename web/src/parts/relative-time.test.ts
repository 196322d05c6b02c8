/** Relative times at the boundaries of each unit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRelative } from "./relative-time.ts";

test("a time is shown in the largest unit that fits and is never rounded up", () => {
  const now = new Date("2026-06-15T12:00:00Z");
  const cases: [seconds: number, text: string][] = [
    [0, "just now"],
    [-59, "just now"],
    [59, "just now"],
    [-60, "1 minute ago"],
    [-119, "1 minute ago"],
    [-3_599, "59 minutes ago"],
    [-3_600, "1 hour ago"],
    [-86_400, "yesterday"],
    [-86_400 * 29, "29 days ago"],
    [-86_400 * 30, "last month"],
    [-86_400 * 400, "last year"],
    [7_200, "in 2 hours"],
  ];
  for (const [seconds, text] of cases) {
    assert.equal(formatRelative(new Date(now.getTime() + seconds * 1000), now), text, `${seconds} s`);
  }
});
