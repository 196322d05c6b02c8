import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../ops/problem.ts";
import { createCallLimit } from "./gate.ts";

test("a call over the rate limit gets resource_exhausted with the time to wait", () => {
  const limit = createCallLimit({ perSecond: 10, burst: 3 });
  for (let i = 0; i < 3; i++) limit.take("a", 1000);
  assert.throws(
    () => limit.take("a", 1000),
    (error) => error instanceof Problem && error.code === "resource_exhausted" && error.retryAfterMs === 100,
  );
  limit.take("b", 1000);
  limit.take("a", 1100);
  assert.throws(() => limit.take("a", 1100), Problem);
});
