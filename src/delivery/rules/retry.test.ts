import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { readConfig } from "../../app/config.ts";
import { nextAttempt } from "./retry.ts";

/** The default settings. */
const { scheduleMs, forMs } = readConfig({}).retry;

function waitMs(attempts: number, draw = 0.5): number {
  const next = nextAttempt({ attempts, leftMs: forMs, scheduleMs, random: () => draw });
  assert.ok("waitMs" in next);
  return next.waitMs;
}

test("the default waits are 30 s, 2, 5, 15 and 30 min, 1, 2 and 4 h, then 4 h each", () => {
  const minutes = Array.from({ length: 10 }, (_, i) => waitMs(i + 1) / 60_000);
  assert.deepEqual(minutes, [0.5, 2, 5, 15, 30, 60, 120, 240, 240, 240]);
});

test("jitter makes a wait up to a fifth shorter or longer", () => {
  assert.equal(waitMs(1, 0), 24_000);
  assert.ok(waitMs(1, 0.999_999) < 36_001);
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (n, draw) => {
        const planned = scheduleMs[Math.min(n, scheduleMs.length) - 1] ?? 0;
        const actual = waitMs(n, draw);
        assert.ok(actual >= planned * 0.8 && actual <= planned * 1.2);
      },
    ),
  );
});

test("the last wait of a configured schedule repeats", () => {
  const at = (attempts: number) => nextAttempt({ attempts, leftMs: forMs, random: () => 0.5, scheduleMs: [10, 20] });
  assert.deepEqual(at(1), { waitMs: 10 });
  assert.deepEqual(at(9), { waitMs: 20 });
});

test("a recipient expires when the next attempt would be too late", () => {
  const soon = 30_000;
  assert.deepEqual(nextAttempt({ attempts: 1, leftMs: soon, scheduleMs, random: () => 0.5 }), {
    expired: true,
  });
  assert.deepEqual(nextAttempt({ attempts: 1, leftMs: 0, random: () => 0, scheduleMs: [0] }), {
    expired: true,
  });
  assert.ok("waitMs" in nextAttempt({ attempts: 1, leftMs: soon, scheduleMs, random: () => 0 }));
});

test("the default retry period of 48 hours allows at least 15 attempts, then the recipient expires", () => {
  for (const draw of [0, 0.5, 0.999]) {
    let leftMs = forMs;
    let attempts = 1;
    for (;;) {
      const next = nextAttempt({ attempts, leftMs, scheduleMs, random: () => draw });
      if ("expired" in next) break;
      assert.ok(next.waitMs > 0);
      leftMs -= next.waitMs;
      attempts += 1;
    }
    assert.ok(attempts >= 15 && attempts < 30, String(attempts));
  }
});
