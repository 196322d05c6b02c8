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

test("items that may not run now wait, and the others of their owner do not", () => {
  const queue = createCostQueue<string>({ halfLifeMs: 1000, nowMs: () => 0 });
  for (const item of ["long 1", "short 1"]) queue.add("a", item);
  queue.add("b", "long 2");
  const isShort = (item: string) => item.startsWith("short");
  assert.deepEqual([queue.next(isShort), queue.next(isShort)], ["short 1", undefined]);
  assert.deepEqual([queue.next(), queue.next(), queue.waiting()], ["long 2", "long 1", 0]);
});

test("the recent cost halves with time", () => {
  let now = 0;
  const queue = createCostQueue<string>({ halfLifeMs: 1000, nowMs: () => now });
  queue.charge("costly", 800);
  now = 1000;
  assert.equal(queue.recentCost("costly"), 400);
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
