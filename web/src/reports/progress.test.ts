import assert from "node:assert/strict";
import { test } from "node:test";
import { DmarcStep } from "../../../src/gen/v1/report_pb.ts";
import { isDue, nameInZone, stagesOf, stepHeadline } from "./progress.ts";

const states = (policy: string, step: DmarcStep) => stagesOf({ policy, step }).map(({ state }) => state);

test("the stages show where the domain is and which stage is next", () => {
  assert.deepEqual(states("", DmarcStep.PUBLISH), ["next", "later", "later"]);
  assert.deepEqual(states("none", DmarcStep.WAIT), ["current", "later", "later"]);
  assert.deepEqual(states("none", DmarcStep.QUARANTINE), ["current", "next", "later"]);
  assert.deepEqual(states("none", DmarcStep.REJECT), ["current", "later", "next"]);
  assert.deepEqual(states("quarantine", DmarcStep.REJECT), ["done", "current", "next"]);
  // Subdomains still have a weaker policy.
  assert.deepEqual(states("reject", DmarcStep.REJECT), ["done", "done", "current"]);
  assert.deepEqual(states("reject", DmarcStep.DONE), ["done", "done", "done"]);
  assert.deepEqual(states("something else", DmarcStep.WAIT), ["later", "later", "later"]);
});

test("every step has a headline, and only waiting and the end need no action", () => {
  const steps = Object.values(DmarcStep).filter((step) => typeof step === "number" && step !== 0) as DmarcStep[];
  assert.equal(steps.length, 7);
  for (const step of steps) assert.notEqual(stepHeadline(step).title, "Next step", String(step));
  assert.deepEqual(
    steps.filter((step) => !isDue(step)),
    [DmarcStep.WAIT, DmarcStep.DONE],
  );
  assert.deepEqual([stepHeadline(99 as DmarcStep).title, isDue(DmarcStep.UNSPECIFIED)], ["Next step", false]);
});

test("names of records fit the zone at the provider", () => {
  assert.equal(nameInZone("_dmarc.mail.contoso.test", "contoso.test"), "_dmarc.mail");
  assert.equal(nameInZone("contoso.test", "contoso.test"), "@");
  assert.equal(nameInZone("_dmarc.other.test", "contoso.test"), "_dmarc.other.test");
  assert.equal(nameInZone("_dmarc.notcontoso.test", "contoso.test"), "_dmarc.notcontoso.test");
});
