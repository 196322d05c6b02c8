import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../ops/log.ts";
import type { Started } from "./messages.ts";
import { type End, ProcessFailed, type Run } from "./run.ts";
import { createSlot } from "./slot.ts";

/** A process that starts, fails and ends as the test says. */
function fakeRun(id: number, onEnd: (run: Run, end: End) => void) {
  const started = Promise.withResolvers<Started>();
  started.promise.catch(() => {});
  let servingSinceMs: number | undefined;
  const stops: number[] = [];
  const run = {
    id,
    pid: id,
    started: started.promise,
    servingSinceMs: () => servingSinceMs,
    isStopping: () => stops.length > 0,
    async stop(limitMs: number) {
      stops.push(limitMs);
    },
  } as unknown as Run;
  return {
    run,
    stops,
    serves() {
      servingSinceMs = performance.now();
      started.resolve({} as Started);
    },
    fails(message: string) {
      started.reject(new ProcessFailed(message, 1));
      onEnd(run, { code: 1, signal: null });
    },
  };
}

test("a process stays when its replacement cannot start", async () => {
  const fakes: ReturnType<typeof fakeRun>[] = [];
  const slot = createSlot({
    slot: 0,
    log: silentLog(),
    newRun(onEnd) {
      const fake = fakeRun(fakes.length + 1, onEnd);
      fakes.push(fake);
      return fake.run;
    },
    stopLimitMs: 1_000,
    onRestart: () => assert.fail("nothing is started again"),
  });
  const first = slot.first({ required: true });
  fakes[0]!.serves();
  await first;
  const replaced = slot.replace();
  fakes[1]!.fails("another release");
  await assert.rejects(replaced, /another release/);
  assert.equal(slot.serving(), fakes[0]!.run);
  assert.deepEqual(fakes[0]!.stops, []);
  assert.deepEqual(slot.runs(), [fakes[0]!.run]);
});
