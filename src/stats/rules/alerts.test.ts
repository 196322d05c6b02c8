import assert from "node:assert/strict";
import { test } from "node:test";
import { noCounts } from "../rules.ts";
import { alertDefaults, judge, settingOf } from "./alerts.ts";

const counts = (delivered: number, bounced = 0, complained = 0) => ({ ...noCounts(), delivered, bounced, complained });
const raised = (verdict: ReturnType<typeof judge>) => typeof verdict === "object";

test("an alert is raised above the threshold, with enough recipients and at least three cases", () => {
  assert.ok(raised(judge("bounces", counts(94, 6), {})));
  assert.ok(!raised(judge("bounces", counts(95, 5), {})), "exactly at the threshold");
  assert.ok(!raised(judge("bounces", counts(2, 1), {})), "1 of 3");
  assert.ok(!raised(judge("bounces", counts(88, 11), {})), "99 recipients");
  assert.ok(!raised(judge("bounces", counts(2, 2), { least: 1 })), "two cases");
  assert.ok(raised(judge("bounces", counts(2, 3), { least: 1 })));
  assert.ok(raised(judge("complaints", counts(900, 0, 3), {})));
  assert.ok(!raised(judge("complaints", counts(1000, 0, 3), {})));
  assert.ok(!raised(judge("complaints", counts(299, 0, 9), {})));
});

test("the sentence names the figures and the threshold", () => {
  const verdict = judge("complaints", counts(5120, 0, 21), {});
  assert.ok(typeof verdict === "object");
  assert.equal(
    verdict.raise.message,
    "21 complaints about 5,120 delivered recipients in the last 24 hours (0.41 %). The threshold is 0.3 %.",
  );
});

test("an alert is over when the rate or the amount of mail is clearly lower, or when it is disabled", () => {
  assert.equal(judge("bounces", counts(95, 5), {}), "keep", "at the threshold");
  assert.equal(judge("bounces", counts(959, 41), {}), "keep", "4.1 %");
  assert.equal(judge("bounces", counts(961, 39), {}), "recover", "3.9 %");
  assert.equal(judge("bounces", counts(40, 20), {}), "keep", "60 of at least 100 recipients");
  assert.equal(judge("bounces", counts(30, 19), {}), "recover", "49 of at least 100 recipients");
  assert.equal(judge("bounces", counts(0, 500), { disabled: true }), "recover");
  assert.equal(judge("complaints", counts(0, 0, 5), {}), "recover", "complaints about mail of earlier days");
});

test("a missing field has the default", () => {
  assert.deepEqual(settingOf("bounces", {}), { disabled: false, ...alertDefaults.bounces });
  assert.deepEqual(settingOf("complaints", { rate: 0.001 }), { disabled: false, rate: 0.001, least: 300 });
});
