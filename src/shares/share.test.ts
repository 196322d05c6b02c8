import assert from "node:assert/strict";
import { test } from "node:test";
import { leftFor } from "./share.ts";

test("a single holder gets its part of the limit, and the next one the same part of the rest", () => {
  assert.equal(leftFor({ limit: 400, used: 0, held: 0, factor: 3 }), 300);
  assert.equal(leftFor({ limit: 400, used: 300, held: 300, factor: 3 }), 0);
  assert.equal(leftFor({ limit: 400, used: 300, held: 0, factor: 3 }), 75);
  assert.equal(leftFor({ limit: 2000, used: 1000, held: 0, factor: 1 }), 500);
});

test("a holder without anything gets one while something is free", () => {
  assert.equal(leftFor({ limit: 10, used: 9, held: 0, factor: 1 }), 1);
  assert.equal(leftFor({ limit: 10, used: 9, held: 1, factor: 1 }), 0);
  assert.equal(leftFor({ limit: 10, used: 10, held: 0, factor: 1 }), 0);
  assert.equal(leftFor({ limit: 10, used: 12, held: 0, factor: 1 }), 0);
});
