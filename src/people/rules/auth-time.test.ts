import assert from "node:assert/strict";
import { test } from "node:test";
import { agoOf } from "./auth-time.ts";

const now = 1_800_000_000_000;

test("the time since a sign-in at the provider, with a tolerance for its clock", () => {
  assert.equal(agoOf(now / 1000 - 90, now), 90_000);
  assert.equal(agoOf(now / 1000 + 59, now), 0, "a clock that is ahead");
  for (const wrong of [now / 1000 + 61, now, Number.NaN, Number.POSITIVE_INFINITY, String(now / 1000), null, undefined])
    assert.equal(agoOf(wrong, now), undefined, String(wrong));
  for (const wrong of [-1, -1e300, Number.MIN_SAFE_INTEGER, Number.NEGATIVE_INFINITY])
    assert.equal(agoOf(wrong, now), undefined, "before 1970: too long ago for an interval of the database");
  assert.equal(agoOf(0, now), now);
});
