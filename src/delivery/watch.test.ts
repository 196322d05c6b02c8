import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { silentLog } from "../ops/log.ts";
import type { Step } from "../smtp/client/progress.ts";
import { createMemory } from "./memory.ts";
import { createEvenPace } from "./pace/paced.ts";
import { createSchedule } from "./schedule.ts";
import type { Leased } from "./store/lease.ts";
import { createWatch } from "./watch.ts";

const mib = 1024 * 1024;
const never = new AbortController().signal;

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ["setInterval"] });
  let nowMs = 0;
  t.mock.method(performance, "now", () => nowMs);
  const pace = createEvenPace();
  const schedule = createSchedule({ working: 10, opening: 10, sockets: 100, perTurn: 10 }, pace);
  const memory = createMemory({ small: mib, large: 208 * mib });
  let freed = 0;
  const watch = createWatch({
    log: silentLog(),
    pace,
    schedule,
    memoryContended: memory.contended,
    onFree: () => freed++,
  });
  const email = (name: string) => ({ sizeBytes: 20 * mib, streamedBytes: 0, destination: name, workspaceId: "w1" });
  return {
    watch,
    schedule,
    memory,
    freed: () => freed,
    /** Lets time pass in ticks of the watch. */
    pass(ms: number) {
      for (const end = nowMs + ms; nowMs < end; ) {
        nowMs += 100;
        t.mock.timers.tick(100);
      }
    },
    /** An attempt that holds the memory of a large email and waits at a step. */
    async attempt(name: string, step: Step) {
      const row = { destination: name, workspaceId: "w1" } as Leased;
      schedule.leased([{ ...row, site: name, quota: 1 }], [row]);
      const watched = watch.start(row, schedule.siteOf(row));
      const reservation = await memory.reserve(email(name), watched.run.signal);
      let holds = true;
      watched.run.dropContent = () => {
        const had = holds;
        if (had) reservation.release();
        holds = false;
        return had;
      };
      watched.run.signal.addEventListener("abort", reservation.release);
      watched.run.progress.wait(step);
      return { watched, holds: () => holds, aborted: () => watched.run.signal.aborted };
    },
    /** Another email that there is no memory for. */
    async contend(name: string) {
      void memory.reserve(email(name), never);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test("without contention an attempt keeps its content however long it waits", async (t) => {
  const { attempt, pass, memory } = start(t);
  const one = await attempt("a.test", "envelope");
  const sending = await attempt("b.test", "body");
  pass(120_000);
  assert.equal(memory.contended(), false);
  assert.deepEqual([one.holds(), sending.holds(), sending.aborted()], [true, true, false]);
});

test("under contention attempts that wait for 5 s before their message drop its content, and go on", async (t) => {
  const { attempt, contend, pass, memory } = start(t);
  const [open, envelope] = [await attempt("a.test", "open"), await attempt("b.test", "envelope")];
  await contend("c.test");
  assert.equal(memory.contended(), true);
  pass(4900);
  assert.deepEqual([open.holds(), envelope.holds()], [true, true]);
  pass(100);
  assert.deepEqual([open.holds(), envelope.holds()], [false, false], "they may share one message");
  assert.deepEqual([open.aborted(), envelope.aborted()], [false, false]);
  assert.equal(memory.contended(), false);
});

test("an attempt that waits for the reply to its message keeps its place, and one with work of its own is not waiting", async (t) => {
  const { attempt, contend, pass, memory } = start(t);
  const dot = await attempt("a.test", "dot");
  const busy = await attempt("b.test", "envelope");
  busy.watched.run.progress.resume(true);
  await contend("c.test");
  pass(60_000);
  assert.equal(memory.contended(), true);
  assert.deepEqual([dot.holds(), dot.aborted(), busy.holds(), busy.aborted()], [true, false, true, false]);
});

test("an attempt that has been sending for 30 s is aborted, one per tick and only until there is memory", async (t) => {
  const { watch, attempt, contend, pass, memory } = start(t);
  const attempts = [await attempt("a.test", "body"), await attempt("b.test", "body")];
  const aborted = () => attempts.filter((one) => one.aborted());
  await contend("c.test");
  pass(29_900);
  assert.equal(aborted().length, 0);
  pass(100);
  assert.equal(aborted().length, 1);
  assert.equal(memory.contended(), false);
  watch.end(aborted()[0]!.watched);
  pass(10_000);
  assert.equal(aborted().length, 1);
  await contend("d.test");
  pass(100);
  assert.equal(aborted().length, 2);
});

test("the attempt that has waited longest for its receiver to read is aborted first", async (t) => {
  const { attempt, contend, pass } = start(t);
  const [other, longest] = [await attempt("a.test", "body"), await attempt("b.test", "body")];
  pass(100);
  other.watched.run.progress.wait();
  pass(40_000);
  await contend("c.test");
  pass(100);
  assert.deepEqual([other.aborted(), longest.aborted()], [false, true]);
});

test("content that can be dropped is dropped before an attempt is aborted", async (t) => {
  const { attempt, contend, pass } = start(t);
  const sending = await attempt("a.test", "body");
  pass(25_000);
  const waiting = await attempt("b.test", "envelope");
  await contend("c.test");
  pass(60_000);
  assert.deepEqual([waiting.holds(), sending.aborted()], [false, false]);
});

test("an attempt that waits for 250 ms frees its working slot and takes it back when it goes on", async (t) => {
  const { watch, attempt, pass, schedule, freed } = start(t);
  const { watched } = await attempt("a.test", "open");
  pass(200);
  assert.deepEqual([schedule.counts().working, freed()], [1, 0]);
  pass(100);
  assert.deepEqual([schedule.counts().working, schedule.counts().waiting, freed()], [0, 1, 1]);
  assert.deepEqual(watch.waitingSites(), [{ site: "a.test", attempts: 1, waitedMs: 300 }]);
  watched.run.progress.resume(true);
  pass(100);
  assert.deepEqual([schedule.counts().working, schedule.counts().waiting, freed()], [1, 0, 1]);
  assert.deepEqual(watch.waitingSites(), []);
});

test("the end of all attempts applies to attempts that start afterwards too", async (t) => {
  const { watch } = start(t);
  const row = { destination: "a.test", workspaceId: "w1" } as Leased;
  const before = watch.start(row, undefined);
  watch.abortAll();
  assert.deepEqual([before.run.signal.aborted, watch.start(row, undefined).run.signal.aborted], [true, true]);
});
