import assert from "node:assert/strict";
import { test } from "node:test";
import { createEndpoints } from "./endpoints.ts";

const limits = { perEndpoint: 6, perWindow: 100 };

test("an endpoint gains a slot per success up to the limit, and a failure halves its slots", () => {
  const endpoints = createEndpoints(limits);
  const finish = (worked: boolean, times = 1) => {
    for (let i = 0; i < times; i++) endpoints.finished("a", worked, 0);
    return endpoints.slotsOf("a");
  };
  assert.equal(endpoints.slotsOf("a"), 4);
  assert.equal(finish(true), 5);
  assert.equal(finish(true, 9), 6);
  assert.equal(finish(false), 3);
  assert.equal(endpoints.isFailing("a"), false);
  assert.equal(finish(false, 9), 1);
  assert.equal(endpoints.isFailing("a"), true);
  assert.equal(finish(true), 2);
});

test("the window follows the latest responses", () => {
  const endpoints = createEndpoints(limits);
  assert.equal(endpoints.windowOf("a", 0), 4, "before the first response");
  for (let i = 0; i < 20; i++) endpoints.finished("a", true, 1000 + i);
  assert.equal(endpoints.windowOf("a", 1020), 40);
  for (let i = 0; i < 200; i++) endpoints.finished("a", true, 1100);
  assert.equal(endpoints.windowOf("a", 1100), 100, "the limit");
  assert.equal(endpoints.windowOf("a", 1600), 6, "the endpoint has not responded for a while");
  for (let i = 0; i < 20; i++) endpoints.finished("a", true, 2000);
  for (let i = 0; i < 3; i++) endpoints.finished("a", false, 2001);
  assert.equal(endpoints.windowOf("a", 2002), 1, "a failing endpoint");
});

test("an endpoint that the store knows as failing starts with one slot, unless it has responded since", () => {
  const endpoints = createEndpoints(limits);
  endpoints.startFailing("a");
  assert.deepEqual([endpoints.slotsOf("a"), endpoints.windowOf("a", 0)], [1, 1]);
  endpoints.finished("b", true, 0);
  endpoints.startFailing("b");
  assert.equal(endpoints.slotsOf("b"), 5);
});
