import assert from "node:assert/strict";
import { test } from "node:test";
import { createLoopShare } from "./loop-share.ts";

/** Longer than a slice. */
function burn(): void {
  for (const end = performance.now() + 5; performance.now() < end; );
}

test("the event loop serves other work between steps, however many steps wait", async () => {
  const loop = createLoopShare();
  const order: string[] = [];
  const steps = Array.from({ length: 5 }, async () => {
    await loop.turn("a");
    order.push("step");
    burn();
  });
  let immediates = 0;
  const other = (async () => {
    while (order.filter((one) => one === "step").length < 5) {
      await new Promise((resolve) => setImmediate(resolve));
      if (immediates++ < 100) order.push("other");
    }
  })();
  await Promise.all([...steps, other]);
  assert.ok(!order.join(" ").includes("step step"), order.join(" "));
});

test("while a short call is in progress, timers run between two slices", async () => {
  const loop = createLoopShare();
  const ended = loop.beginShortCall();
  const order: string[] = [];
  const steps = Array.from({ length: 3 }, async (_, i) => {
    await loop.turn("a");
    order.push(`step ${i}`);
    // A timer that is due in the pause after this slice.
    const timer = new Promise<void>((resolve) => setTimeout(() => resolve(void order.push(`timer ${i}`)), 1));
    burn();
    await timer;
  });
  await Promise.all(steps);
  ended();
  ended();
  assert.deepEqual(order, ["step 0", "timer 0", "step 1", "timer 1", "step 2", "timer 2"]);
});

test("owners take turns, and so do urgent and ordinary steps", async () => {
  const loop = createLoopShare();
  const order: string[] = [];
  const step = async (owner: string, urgent = false) => {
    await loop.turn(owner, { urgent });
    order.push(owner);
    burn();
  };
  const ordinary = [step("flood"), step("flood"), step("flood"), step("small")];
  await Promise.all([...ordinary, step("live", true), step("live", true)]);
  assert.deepEqual(order, ["flood", "live", "flood", "live", "small", "flood"]);
});

test("a step without others runs at once", async () => {
  const loop = createLoopShare();
  const order: string[] = [];
  const step = loop.turn("a").then(() => order.push("step"));
  const later = new Promise<void>((resolve) => setImmediate(() => resolve(void order.push("immediate"))));
  await Promise.all([step, later]);
  assert.deepEqual(order, ["step", "immediate"]);
});

test("an urgent step does not wait for the pause of ordinary steps", async () => {
  const loop = createLoopShare();
  const ended = loop.beginShortCall();
  const order: string[] = [];
  const step = async (name: string, urgent = false) => {
    await loop.turn(name, { urgent });
    order.push(name);
    burn();
  };
  const steps = [step("first"), step("second")];
  await steps[0];
  // The loop pauses before the second step.
  await Promise.all([...steps, step("live", true)]);
  ended();
  assert.deepEqual(order, ["first", "live", "second"]);
});

test("with a longer pause, the steps have a smaller share", async () => {
  const loop = createLoopShare({ pauseFactor: 3 });
  loop.beginShortCall();
  const times: number[] = [];
  await Promise.all(
    [0, 1].map(async () => {
      await loop.turn("a");
      times.push(performance.now());
      burn();
    }),
  );
  // The first step took 5 ms. Timers may fire a millisecond early.
  assert.ok(times[1]! - times[0]! >= 5 + 3 * 5 - 1, times.join());
});
