import assert from "node:assert/strict";
import { test } from "node:test";
import { causeOf, nextStart, stableMs } from "./restart-delay.ts";

test("a process that served is started again at once, and one that keeps ending later and later", () => {
  let earlyEnds = 0;
  const delays = [];
  for (let run = 0; run < 9; run++) {
    const next = nextStart({ servedMs: 10, earlyEnds });
    delays.push(next.delayMs);
    earlyEnds = next.earlyEnds;
  }
  assert.deepEqual(delays, [0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
});

test("a process that never served waits from the first time on, and a stable run forgets the early ends", () => {
  assert.deepEqual(nextStart({ servedMs: undefined, earlyEnds: 0 }), { delayMs: 500, earlyEnds: 1 });
  assert.deepEqual(nextStart({ servedMs: stableMs, earlyEnds: 7 }), { delayMs: 0, earlyEnds: 0 });
});

test("the log names the cause", () => {
  assert.match(causeOf({ code: null, signal: "SIGKILL" }), /SIGKILL.*memory/);
  assert.equal(causeOf({ code: null, signal: "SIGSEGV" }), "ended by SIGSEGV");
  assert.equal(causeOf({ code: 1, signal: null }), "ended with exit code 1");
  assert.equal(causeOf({ code: null, signal: "SIGKILL", isHung: true }), "did not answer for 30 s and was killed");
});
