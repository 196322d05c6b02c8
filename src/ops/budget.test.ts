import assert from "node:assert/strict";
import { test } from "node:test";
import { createBudget } from "./budget.ts";

test("an amount that does not fit is refused, or waits in order until enough is given back", async () => {
  const budget = createBudget(10);
  assert.equal(budget.tryTake(8), true);
  assert.equal(budget.tryTake(3), false);
  const order: string[] = [];
  const first = budget.take(5).then(() => order.push("first"));
  const second = budget.take(1).then(() => order.push("second"));
  assert.equal(budget.tryTake(1), false, "tryTake does not overtake the queue");
  budget.give(8);
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "second"]);
  assert.equal(budget.used(), 6);
});

test("an amount larger than the total is granted when the budget is unused", async () => {
  const budget = createBudget(10);
  await budget.take(50);
  assert.equal(budget.tryTake(1), false);
  budget.give(50);
  assert.equal(budget.tryTake(1), true);
});

test("an aborted waiter does not block the ones behind it", async () => {
  const budget = createBudget(10);
  await budget.take(10);
  const controller = new AbortController();
  const aborted = budget.take(10, controller.signal);
  const next = budget.take(2);
  controller.abort(new Error("gave up"));
  await assert.rejects(aborted, /gave up/);
  budget.give(10);
  await next;
  assert.equal(budget.used(), 2);
});
