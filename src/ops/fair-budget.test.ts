import assert from "node:assert/strict";
import { test } from "node:test";
import { createFairBudget } from "./fair-budget.ts";

const never = new AbortController().signal;

/** Starts to take and records the owner once the budget grants it. */
function taking(budget: ReturnType<typeof createFairBudget>, granted: string[], owner: string, amount = 1) {
  return budget.take(owner, amount, never).then(() => granted.push(owner));
}

test("one owner leaves a part to the others", async () => {
  const budget = createFairBudget(4, 1);
  const granted: string[] = [];
  for (let i = 0; i < 3; i++) void taking(budget, granted, "flood");
  await taking(budget, granted, "calm");
  assert.deepEqual(granted, ["flood", "flood", "calm"]);
  assert.equal(budget.contended(), true);
});

test("owners that wait are served in turn", async () => {
  const budget = createFairBudget(2, 1);
  const granted: string[] = [];
  await taking(budget, granted, "a");
  await taking(budget, granted, "b");
  const rest = ["a", "a", "b"].map((owner) => taking(budget, granted, owner));
  for (const owner of ["a", "b", "a", "b"]) budget.give(owner, 1);
  await Promise.all(rest.slice(0, 2));
  assert.deepEqual(granted.slice(2, 4), ["a", "b"]);
});

test("an amount larger than the budget is granted once nothing is used", async () => {
  const budget = createFairBudget(10, 1);
  const granted: string[] = [];
  await taking(budget, granted, "small", 3);
  const large = taking(budget, granted, "large", 50);
  assert.deepEqual(granted, ["small"]);
  budget.give("small", 3);
  await large;
  assert.deepEqual(granted, ["small", "large"]);
});

test("an aborted wait takes nothing, and lets the next one of the owner through", async () => {
  const budget = createFairBudget(10, 1);
  const stop = new AbortController();
  await budget.take("a", 3, never);
  const large = assert.rejects(budget.take("a", 8, stop.signal), /stopped/);
  const granted: string[] = [];
  const small = taking(budget, granted, "a", 2);
  stop.abort(new Error("stopped"));
  await Promise.all([large, small]);
  assert.deepEqual(granted, ["a"]);
  assert.equal(budget.contended(), false);
});
