import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Budget, createBudget, runOrRefuse } from "./budget.ts";
import { leftFor } from "./share.ts";

/** Starts to take and records the owner once the budget grants it. */
function taking(budget: Budget, granted: string[], owner: string, amount = 1) {
  return budget.take(owner, amount).then(() => granted.push(owner));
}

test("one owner leaves a part to the others", async () => {
  const budget = createBudget({ total: 4, factor: 1 });
  const granted: string[] = [];
  for (let i = 0; i < 3; i++) void taking(budget, granted, "flood");
  await taking(budget, granted, "calm");
  assert.deepEqual(granted, ["flood", "flood", "calm"]);
  assert.equal(budget.waiting(), 1);
  assert.equal(budget.waiting("flood"), 1);
});

test("no owner holds more than its cap", () => {
  const budget = createBudget({ total: 100, perOwner: 2 });
  assert.deepEqual(
    [1, 1, 1].map((amount) => budget.tryTake("flood", amount)),
    [true, true, false],
  );
  assert.equal(budget.heldBy("flood"), 2);
  assert.equal(budget.tryTake("calm", 1), true);
});

test("large first amounts of a few owners leave an eighth to small amounts of others", () => {
  const budget = createBudget({ total: 128, factor: 1 });
  assert.deepEqual(
    ["a", "b", "c", "d"].map((owner) => budget.tryTake(owner, 48)),
    [true, true, false, false],
  );
  assert.equal(budget.tryTake("c", 16), true);
  assert.equal(budget.tryTake("d", 16), false);
  assert.equal(budget.tryTake("d", 8), true);
  assert.equal(budget.tryTake("e", 4), true);
});

test("owners that wait are served in turn", async () => {
  const budget = createBudget({ total: 2, factor: 1 });
  const granted: string[] = [];
  await taking(budget, granted, "a");
  await taking(budget, granted, "b");
  const rest = ["a", "a", "b"].map((owner) => taking(budget, granted, owner));
  for (const owner of ["a", "b", "a", "b"]) budget.give(owner, 1);
  await Promise.all(rest.slice(0, 2));
  assert.deepEqual(granted.slice(2, 4), ["a", "b"]);
});

test("an amount larger than the total is granted once nothing is used", async () => {
  const budget = createBudget({ total: 10, factor: 1 });
  const granted: string[] = [];
  await taking(budget, granted, "small", 3);
  const large = taking(budget, granted, "large", 50);
  assert.deepEqual(granted, ["small"]);
  budget.give("small", 3);
  await large;
  assert.deepEqual(granted, ["small", "large"]);
  assert.equal(budget.tryTake("small", 1), false);
});

test("an aborted wait takes nothing, and lets the next one of the owner through", async () => {
  const budget = createBudget({ total: 10, factor: 1 });
  const stop = new AbortController();
  await budget.take("a", 3);
  const large = assert.rejects(budget.take("a", 8, stop.signal), /stopped/);
  const granted: string[] = [];
  const small = taking(budget, granted, "a", 2);
  stop.abort(new Error("stopped"));
  await Promise.all([large, small]);
  assert.deepEqual(granted, ["a"]);
  assert.equal(budget.waiting(), 0);
});

test("without a factor, waiters of one owner are served in order, and tryTake does not overtake them", async () => {
  const budget = createBudget({ total: 10 });
  assert.equal(budget.tryTake("", 8), true);
  assert.equal(budget.tryTake("", 3), false);
  const order: string[] = [];
  const first = budget.take("", 5).then(() => order.push("first"));
  const second = budget.take("", 1).then(() => order.push("second"));
  assert.equal(budget.tryTake("", 1), false);
  budget.give("", 8);
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "second"]);
  assert.equal(budget.used(), 6);
});

test("no more tasks run than the budget allows, waiting owners take turns, and a task that fails gives its place back", async () => {
  const budget = createBudget({ total: 2 });
  const started: string[] = [];
  let running = 0;
  let most = 0;
  const task = (owner: string, name: string) =>
    budget.run(owner, async () => {
      started.push(name);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    });
  const names = Array.from({ length: 6 }, (_, i) => `flood ${i}`);
  await Promise.all([...names.map((name) => task("flood", name)), task("small", "small 0"), task("small", "small 1")]);
  assert.equal(most, 2);
  assert.ok(started.indexOf("small 1") < started.indexOf("flood 5"), started.join());
  await assert.rejects(
    budget.run("a", () => Promise.reject(new Error("its own"))),
    /its own/,
  );
  assert.equal(budget.used(), 0);
});

test("a waiter that is over its own share does not block the owners behind it", async () => {
  const budget = createBudget({ total: 100, factor: 1 });
  for (const owner of ["flood", "calm"]) await budget.take(owner, 30);
  const granted: string[] = [];
  void taking(budget, granted, "flood", 20);
  void taking(budget, granted, "calm", 11);
  budget.give("calm", 20);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(granted, ["calm"]);
});

test("after a give, no waiter that fits is left waiting, unless an owner that holds nothing waits", async () => {
  type Step = { owner: string; amount: number; gives: number };
  const total = 64;
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const property = async (factor: number, steps: Step[]) => {
    const budget = createBudget({ total, factor });
    const holds: Step[] = [];
    const waits: Step[] = [];
    for (const one of steps) {
      waits.push(one);
      void budget.take(one.owner, one.amount).then(() => holds.push(...waits.splice(waits.indexOf(one), 1)));
      await settled();
      const [back] = holds.splice(one.gives % (holds.length + 2), 1);
      if (!back) continue;
      budget.give(back.owner, back.amount);
      await settled();
      assert.equal(budget.waiting(), waits.length);
      if (waits.some(({ owner }) => budget.heldBy(owner) === 0)) continue;
      for (const { owner, amount } of waits.filter((wait, i) => waits.findIndex((w) => w.owner === wait.owner) === i))
        assert.ok(amount > leftFor({ limit: total, used: budget.used(), held: budget.heldBy(owner), factor }), owner);
    }
  };
  const step = fc.record({
    owner: fc.constantFrom("a", "b", "c"),
    amount: fc.integer({ min: 1, max: 20 }),
    gives: fc.nat(20),
  });
  const steps = fc.array(step, { minLength: 10, maxLength: 40 });
  await fc.assert(fc.asyncProperty(fc.constantFrom(1, 3), steps, property), { numRuns: 200 });
});

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
