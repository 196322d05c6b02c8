import assert from "node:assert/strict";
import { test } from "node:test";
import { noCounts } from "../rules.ts";
import { rateLimits, ratesOf } from "./rates.ts";

test("rates compare outcomes of recipients that a server answered; suppressed, canceled and delayed ones do not count", () => {
  const counts = { ...noCounts(), accepted: 1200, delivered: 890, sent: 60, bounced: 40, failed: 10, complained: 2 };
  const others = { suppressed: 100, canceled: 50, delayed: 70 };
  assert.deepEqual(ratesOf({ ...counts, ...others }), { delivered: 0.95, bounced: 40 / 990, complained: 2 / 950 });
});

test("a rate without recipients is undefined, not zero", () => {
  assert.deepEqual(ratesOf(noCounts()), { delivered: undefined, bounced: undefined, complained: undefined });
  assert.deepEqual(ratesOf({ ...noCounts(), failed: 1 }), { delivered: 0, bounced: undefined, complained: undefined });
  assert.equal(ratesOf({ ...noCounts(), bounced: 3 }).bounced, 1);
});

test("each target is below its limit", () => {
  assert.ok(rateLimits.bounceTarget < rateLimits.bounceLimit);
  assert.ok(rateLimits.complaintTarget < rateLimits.complaintLimit);
});
