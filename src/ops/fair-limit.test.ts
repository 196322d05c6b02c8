import assert from "node:assert/strict";
import { test } from "node:test";
import { createFairLimit } from "./fair-limit.ts";

test("no more tasks run than there are slots, and waiting owners take turns", async () => {
  const limit = createFairLimit(2);
  const started: string[] = [];
  let running = 0;
  let most = 0;
  const task = (owner: string, name: string) =>
    limit.run(owner, async () => {
      started.push(name);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    });
  const names = Array.from({ length: 6 }, (_, i) => `flood ${i}`);
  await Promise.all([...names.map((name) => task("flood", name)), task("small", "small 0"), task("small", "small 1")]);
  assert.equal(most, 2);
  assert.deepEqual(started.slice(0, 6), ["flood 0", "flood 1", "flood 2", "small 0", "flood 3", "small 1"]);
});

test("a slot is released once, also by a task that fails", async () => {
  const limit = createFairLimit(1);
  await assert.rejects(
    limit.run("a", () => Promise.reject(new Error("its own"))),
    /its own/,
  );
  const release = await limit.take("a");
  const second = limit.take("b");
  release();
  release();
  const releaseSecond = await second;
  let third = false;
  const taken = limit.take("c").then((releaseThird) => {
    third = true;
    releaseThird();
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(third, false);
  releaseSecond();
  await taken;
});
