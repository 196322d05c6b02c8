import assert from "node:assert/strict";
import { test } from "node:test";
import { createRoundRobin } from "./round-robin.ts";

test("owners take turns, and the items of an owner keep their order", () => {
  const queue = createRoundRobin<string>();
  for (const item of ["a1", "a2", "a3"]) queue.add("a", item);
  queue.add("b", "b1");
  assert.deepEqual([queue.next(), queue.next(), queue.size()], ["a1", "b1", 2]);
  queue.add("c", "c1");
  assert.deepEqual([queue.next(), queue.next(), queue.next(), queue.next()], ["a2", "c1", "a3", undefined]);
  assert.equal(queue.size(), 0);
});

test("a long list keeps its order", () => {
  const queue = createRoundRobin<number>();
  const items = Array.from({ length: 5000 }, (_, i) => i);
  for (const item of items) queue.add("a", item);
  assert.deepEqual(
    items.map(() => queue.next()),
    items,
  );
});
