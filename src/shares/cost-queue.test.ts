import assert from "node:assert/strict";
import { test } from "node:test";
import { createCostQueue } from "./cost-queue.ts";

test("the owner whose items cost least lately is served first, and equal owners take turns", () => {
  const queue = createCostQueue<string>({ halfLifeMs: 1000, nowMs: () => 0 });
  for (const item of ["a1", "a2", "a3"]) queue.add("a", item);
  for (const item of ["b1", "b2"]) queue.add("b", item);
  assert.deepEqual([queue.next(), queue.next()], ["a1", "b1"]);
  queue.charge("a", 500);
  assert.deepEqual([queue.next(), queue.next(), queue.next(), queue.next()], ["b2", "a2", "a3", undefined]);
});

test("an owner above the cost limit waits, and its cost halves with time", () => {
  let now = 0;
  const queue = createCostQueue<string>({ halfLifeMs: 1000, nowMs: () => now });
  queue.charge("costly", 800);
  queue.add("costly", "c1");
  assert.equal(queue.next(400), undefined);
  assert.equal(queue.waiting("costly"), 1);
  now = 1000;
  assert.equal(queue.recentCost("costly"), 400);
  assert.equal(queue.next(400), "c1");
});

test("an item can leave the queue before its turn", () => {
  const queue = createCostQueue<string>({ halfLifeMs: 1000 });
  queue.add("a", "a1");
  assert.equal(queue.remove("a", "a1"), true);
  assert.equal(queue.remove("a", "a1"), false);
  assert.equal(queue.waiting(), 0);
});

test("idle owners are forgotten", () => {
  let now = 0;
  const queue = createCostQueue<string>({ halfLifeMs: 10, nowMs: () => now });
  for (let i = 0; i < 999; i++) queue.charge(`owner ${i}`, 100);
  now = 1000;
  queue.charge("last", 100);
  assert.equal(queue.recentCost("owner 1"), 0);
  assert.equal(queue.recentCost("last"), 100);
});
