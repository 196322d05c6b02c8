import assert from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "./clock.ts";

test("the clock starts with this machine's time and runs on from the database's time once it is set", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_000_000 });
  const clock = createClock();
  assert.equal(clock.nowMs(), 1_000_000);
  clock.set(5_000_000.7);
  assert.equal(clock.nowMs(), 5_000_000);
  t.mock.timers.tick(250);
  assert.equal(clock.nowMs(), 5_000_250);
  clock.set(4_000_000);
  assert.equal(clock.nowMs(), 4_000_000);
});
