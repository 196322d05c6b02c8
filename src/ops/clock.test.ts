import assert from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "./clock.ts";

test("the clocks start with this machine's time, and run with the monotonic clock once the database's times are set", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_000_000 });
  let monotonicMs = 70;
  const clock = createClock(() => monotonicMs);
  assert.equal(clock.nowMs(), 1_000_000);
  assert.equal(clock.serviceMs(), 1_000_000);
  clock.set({ wallMs: 5_000_000.7, serviceMs: 4_000_000.2 });
  assert.equal(clock.nowMs(), 5_000_000);
  monotonicMs += 250;
  assert.equal(clock.nowMs(), 5_000_250);
  assert.equal(clock.serviceMs(), 4_000_250);
  t.mock.timers.setTime(900_000_000);
  assert.equal(clock.nowMs(), 5_000_250, "a jump of this machine's clock changes nothing");
  clock.set({ wallMs: 3_000_000, serviceMs: 4_000_300 });
  assert.equal(clock.nowMs(), 3_000_000);
  assert.equal(clock.serviceMs(), 4_000_300);
});

test("a slow answer neither sets the clocks back nor moves them beyond what the database can show by then", () => {
  let monotonicMs = 0;
  const clock = createClock(() => monotonicMs);
  clock.set({ wallMs: 1_000_000, serviceMs: 500_000 });
  monotonicMs += 5_000;
  clock.set({ wallMs: 1_004_100, serviceMs: 504_100 }, 1_000);
  assert.deepEqual([clock.nowMs(), clock.serviceMs()], [1_005_000, 505_000], "the answer took 900 ms to arrive");
  clock.set({ wallMs: 1_005_200, serviceMs: 505_200 }, 1_000);
  assert.equal(clock.nowMs(), 1_005_200, "the database is ahead");
  clock.set({ wallMs: 900_000, serviceMs: 505_200 }, 1_000);
  assert.deepEqual([clock.nowMs(), clock.serviceMs()], [901_000, 505_200], "its wall time was set back");
});
