import assert from "node:assert/strict";
import test from "node:test";
import { minutes, plan, sizes } from "./plan.ts";

const all = Object.keys(sizes);
const seconds = (planned: { seconds: number }[]) => planned.reduce((sum, one) => sum + one.seconds, 0);

test("a run of all benches leaves out growth and fits into 10 minutes", () => {
  const planned = plan(all, [], { quick: false });
  assert.ok(!planned.some(({ name }) => name === "growth"));
  assert.ok(seconds(planned) <= 600, `${seconds(planned)} s`);
});

test("a quick run has only the benches with targets and fits into 2 minutes", () => {
  const planned = plan(all, [], { quick: true });
  assert.ok(seconds(planned) <= 120, `${seconds(planned)} s`);
  assert.ok(!planned.some(({ name }) => name === "sign"));
  assert.ok(planned.some(({ name }) => name === "send"));
});

test("a bench has a smaller scale in a run of all, and its full size when it is named", () => {
  const queue = (planned: ReturnType<typeof plan>) => planned.find(({ name }) => name === "queue")!;
  assert.equal(queue(plan(all, [], { quick: false })).scale, 0.1);
  assert.equal(queue(plan(all, ["queue"], { quick: false })).scale, undefined);
  assert.equal(queue(plan(all, [], { quick: false, scale: "1" })).scale, undefined);
  assert.ok(queue(plan(all, ["queue"], { quick: false })).seconds > queue(plan(all, [], { quick: false })).seconds);
});

test("named benches keep their order, and a quick run of a bench without targets is allowed", () => {
  const planned = plan(all, ["sign", "http"], { quick: true });
  assert.deepEqual(
    planned.map(({ name }) => name),
    ["sign", "http"],
  );
});

test("a bench is stopped after four times its duration, but never within two minutes", () => {
  const [http, growth] = plan(all, ["http", "growth"], { quick: false });
  assert.equal(http!.limitMs, 120_000);
  assert.equal(growth!.limitMs, sizes.growth!.seconds * 4000);
});

test("minutes", () => {
  assert.equal(minutes(75.4), "1:15");
  assert.equal(minutes(600), "10:00");
});
