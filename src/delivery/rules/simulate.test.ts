import assert from "node:assert/strict";
import test from "node:test";
import { simulate } from "./simulate.ts";

/** All outcomes of a simulated recipient up to the final one, then the follow-up. */
function outcomesOf(address: string): string[] {
  const outcomes: string[] = [];
  for (let attempt = 1; ; attempt++) {
    const step = simulate({ address, attempt });
    if (step.kind === "suppressed") return [...outcomes, "suppressed"];
    const { outcome, followUp, afterMs } = step;
    assert.equal(outcome.suppress, false);
    assert.equal(afterMs, outcome.kind === "deferred" || followUp ? 1000 : null);
    outcomes.push(`${outcome.kind} ${outcome.enhancedCode}`);
    if (outcome.kind !== "deferred") return followUp ? [...outcomes, followUp] : outcomes;
  }
}

for (const [mailbox, expected] of [
  ["delivered", ["delivered 2.0.0"]],
  ["any.other", ["delivered 2.0.0"]],
  ["bounced", ["bounced 5.1.1"]],
  ["full", ["deferred 4.2.2", "bounced 5.2.2"]],
  ["delayed", ["deferred 4.7.1", "deferred 4.7.1", "delivered 2.0.0"]],
  ["complained", ["delivered 2.0.0", "complaint"]],
  ["replied", ["delivered 2.0.0", "reply"]],
  ["suppressed", ["suppressed"]],
  ["Bounced", ["bounced 5.1.1"]],
  ["bounced+signup-7", ["bounced 5.1.1"]],
  ['"bounced"', ["delivered 2.0.0"]],
] as const) {
  test(`mail to ${mailbox}@ is: ${expected.join(", ")}`, () =>
    assert.deepEqual(outcomesOf(`${mailbox}@example.test`), expected));
}

test("a simulated bounce has the category, type and reply of a real one", () => {
  const step = simulate({ address: "bounced@example.test", attempt: 1 });
  assert.ok(step.kind === "outcome");
  const { category, bounceType, reply } = step.outcome;
  assert.deepEqual(
    [category, bounceType, reply],
    ["unknown-mailbox", "permanent", "550 5.1.1 No such user here (simulated)"],
  );
});
