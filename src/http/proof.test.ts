import assert from "node:assert/strict";
import { test } from "node:test";
import { isFresh, requireFresh, requireSecondFactor } from "./proof.ts";

test("a proof is recent for 15 minutes, and an unknown one is not", () => {
  const minute = 60_000;
  for (const [agoMs, expected] of [
    [0, true],
    [15 * minute, true],
    [15 * minute + 1, false],
    [null, false],
    [undefined, false],
  ] as const)
    assert.equal(isFresh(agoMs), expected, String(agoMs));
  assert.throws(() => requireFresh(undefined), { reason: "FRESH_AUTHENTICATION_REQUIRED" });
  requireFresh({ hasSecondFactor: false, needsSecondFactor: false, agoMs: 5 });
});

test("a second factor is required only where it is needed", () => {
  const proof = { hasSecondFactor: false, needsSecondFactor: true, agoMs: 0 };
  assert.throws(() => requireSecondFactor(proof), { code: "permission_denied", reason: "SECOND_FACTOR_REQUIRED" });
  requireSecondFactor({ ...proof, hasSecondFactor: true });
  requireSecondFactor({ ...proof, needsSecondFactor: false });
});
