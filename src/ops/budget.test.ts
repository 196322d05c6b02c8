import assert from "node:assert/strict";
import { test } from "node:test";
import { createBudget } from "./budget.ts";

test("what does not fit is refused, or waits in line for what is given back", async () => {
  const budget = createBudget(10);
  assert.equal(budget.tryTake(8), true);
  assert.equal(budget.tryTake(3), false);
  const order: string[] = [];
  const first = budget.take(5).then(() => order.push("first"));
  const second = budget.take(1).then(() => order.push("second"));
  assert.equal(budget.tryTake(1), false, "nobody overtakes the line");
  budget.give(8);
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "second"]);
  assert.equal(budget.used(), 6);
});

test("an amount larger than the whole is granted alone", async () => {
  const budget = createBudget(10);
  await budget.take(50);
  assert.equal(budget.tryTake(1), false);
  budget.give(50);
  assert.equal(budget.tryTake(1), true);
});

test("a waiter that gives up leaves the line moving", async () => {
  const budget = createBudget(10);
  await budget.take(10);
  const controller = new AbortController();
  const gone = budget.take(10, controller.signal);
  const next = budget.take(2);
  controller.abort(new Error("gone"));
  await assert.rejects(gone, /gone/);
  budget.give(10);
  await next;
  assert.equal(budget.used(), 2);
});
