import assert from "node:assert/strict";
import { test } from "node:test";
import { createReceiveProgress } from "./progress.ts";

function start() {
  const clock = { ms: 0 };
  const progress = createReceiveProgress({ bytesPerSecond: 100, graceMs: 10_000 }, () => clock.ms);
  return { clock, progress };
}

test("a message has its grace, and each octet adds time", () => {
  const { clock, progress } = start();
  assert.equal(progress.leftMs(), 10_000);
  clock.ms = 6000;
  assert.equal(progress.leftMs(), 4000);
  assert.equal(progress.lagMs(), 6000);
  progress.received(100);
  assert.equal(progress.leftMs(), 5000);
});

test("a fast start gives no more than the grace for later", () => {
  const { clock, progress } = start();
  progress.received(15_000_000);
  assert.equal(progress.lagMs(), 0);
  clock.ms = 10_001;
  assert.ok(progress.leftMs() < 0);
});

test("the rate is that of the last seconds", () => {
  const { clock, progress } = start();
  for (let i = 0; i < 10; i++) {
    clock.ms += 1000;
    progress.received(1_000_000);
  }
  assert.ok(progress.rate() > 500_000, String(progress.rate()));
  clock.ms += 5000;
  assert.equal(progress.rate(), 0);
});
