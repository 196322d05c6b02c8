import assert from "node:assert/strict";
import { test } from "node:test";
import { createTokenBuckets } from "./token-bucket.ts";

test("a burst passes, then one token per period; a refusal carries the time to wait", () => {
  const buckets = createTokenBuckets({ burst: 3, periodMs: 100, maxKeys: 10 });
  for (let i = 0; i < 3; i++) assert.equal(buckets.take("a", 1000).waitMs, 0);
  assert.deepEqual(buckets.take("a", 1000), { waitMs: 100, refusals: 1 });
  assert.deepEqual(buckets.take("a", 1040), { waitMs: 60, refusals: 2 });
  assert.equal(buckets.waitMs("a", 1100), 0);
  assert.equal(buckets.take("a", 1100).waitMs, 0);
  assert.equal(buckets.take("a", 1100).waitMs, 100);
});

test("many tokens at once leave a debt, and the next token is there when it is paid", () => {
  const buckets = createTokenBuckets({ burst: 3, periodMs: 100, maxKeys: 10 });
  assert.equal(buckets.take("a", 0, 10).waitMs, 0);
  assert.equal(buckets.take("a", 0, 10).waitMs, 800);
  assert.equal(buckets.take("a", 799).waitMs, 1);
  assert.equal(buckets.take("a", 800).waitMs, 0);
});

test("each key has its own bucket, and a clock that steps back adds no tokens", () => {
  const buckets = createTokenBuckets({ burst: 1, periodMs: 1000, maxKeys: 10 });
  assert.equal(buckets.take("a", 5000).waitMs, 0);
  assert.equal(buckets.take("b", 5000).waitMs, 0);
  assert.equal(buckets.take("a", 1000).waitMs, 1000);
});

test("a token can be given back, and a bucket never holds more than the burst", () => {
  const buckets = createTokenBuckets({ burst: 1, periodMs: 1000, maxKeys: 10 });
  buckets.take("a", 0);
  buckets.giveBack("a", 0);
  buckets.giveBack("a", 0);
  assert.equal(buckets.size(), 0);
  assert.equal(buckets.take("a", 0).waitMs, 0);
  assert.equal(buckets.take("a", 0).waitMs, 1000);
});

test("the number of buckets is bounded: the least recently used one is dropped", () => {
  const buckets = createTokenBuckets({ burst: 1, periodMs: 1000, maxKeys: 2 });
  for (const key of ["a", "b", "a", "c"]) buckets.take(key, 0);
  assert.equal(buckets.size(), 2);
  assert.equal(buckets.waitMs("a", 0), 1000);
  assert.equal(buckets.waitMs("b", 0), 0);
});
