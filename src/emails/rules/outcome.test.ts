import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf, outcomes } from "./outcome.ts";

const none = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<(typeof outcomes)[number], number>;

test("an email has the first outcome that applies to one of its recipients", () => {
  for (const [n, outcome] of outcomes.entries()) {
    const later = Object.fromEntries(outcomes.slice(n).map((one) => [one, 1]));
    assert.equal(outcomeOf({ ...none, ...later }), outcome);
  }
});

test("one complaint among 50 delivered recipients decides", () => {
  assert.equal(outcomeOf({ ...none, delivered: 50, complained: 1 }), "complained");
});
