import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../rules/problem.ts";
import { createRateLimit } from "./rate-limit.ts";

test("a burst passes, then one more is refused with the time to wait", () => {
  const limit = createRateLimit({ perSecond: 10, burst: 3 });
  for (let i = 0; i < 3; i++) limit.take("a", 1000);
  assert.throws(
    () => limit.take("a", 1000),
    (error) => error instanceof Problem && error.code === "resource_exhausted" && error.retryAfterMs === 100,
  );
  limit.take("a", 1100);
  assert.throws(() => limit.take("a", 1100));
});

test("keys do not share a bucket, and a clock that steps back gives nothing away", () => {
  const limit = createRateLimit({ perSecond: 1, burst: 1 });
  limit.take("a", 5000);
  limit.take("b", 5000);
  assert.throws(() => limit.take("a", 1000));
});

test("full buckets are forgotten", () => {
  const limit = createRateLimit({ perSecond: 1000, burst: 1 });
  for (let i = 0; i <= 10_000; i++) limit.take(`key ${i}`, i * 10);
  assert.ok(limit.size() < 10, `${limit.size()} buckets kept`);
});
