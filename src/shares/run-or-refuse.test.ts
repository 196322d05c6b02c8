import assert from "node:assert/strict";
import { test } from "node:test";
import { createBudget } from "./budget.ts";
import { runOrRefuse } from "./run-or-refuse.ts";

test("an owner's tasks run within its cap, a few wait, and further ones are refused; another owner is served", async () => {
  const budget = createBudget({ total: 4, perOwner: 2 });
  const go = Promise.withResolvers<void>();
  const ran: string[] = [];
  const run = (owner: string) =>
    runOrRefuse({ budget, owner, maxWaiting: 1, refusal: () => new Error("too many") }, async () => {
      ran.push(owner);
      await go.promise;
    });
  const accepted = [run("flood"), run("flood"), run("flood")];
  await assert.rejects(run("flood"), /too many/);
  accepted.push(run("calm"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(ran, ["flood", "flood", "calm"]);
  go.resolve();
  await Promise.all(accepted);
  assert.deepEqual(ran, ["flood", "flood", "calm", "flood"]);
  assert.equal(budget.used(), 0);
});

test("a task that fails gives its place back, and an aborted wait takes none", async () => {
  const budget = createBudget({ total: 1 });
  const options = { budget, owner: "a", maxWaiting: 1, refusal: () => new Error("too many") };
  await assert.rejects(
    runOrRefuse(options, () => Promise.reject(new Error("its own"))),
    /its own/,
  );
  assert.equal(budget.tryTake("b", 1), true);
  const stop = new AbortController();
  const waiting = runOrRefuse({ ...options, signal: stop.signal }, async () => assert.fail("ran after its abort"));
  stop.abort(new Error("gone"));
  await assert.rejects(waiting, /gone/);
  assert.equal(budget.used(), 1);
});
