import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { createEndings } from "./ending.ts";

const start = (ms = 60_000) => createEndings({ ms, error: "too late" }).start;

test("a request ends when its caller aborts, with the caller's reason", () => {
  const caller = new AbortController();
  const begin = start();
  const [one, other] = [begin(caller.signal), begin(caller.signal)];
  let ended = 0;
  one.listen(() => ended++);
  other.listen(() => ended++);
  other.done();
  const { signal } = one;
  const lookup = signal();
  caller.abort(new Error("stopped"));
  assert.deepEqual([one.reason()?.message, lookup.aborted, ended], ["stopped", true, 1]);
  assert.equal(other.reason(), undefined, "it had ended before");
  one.done();
});

test("a request ends when its time is over, and one of a caller that has aborted is over at once", async () => {
  const late = start(1)(new AbortController().signal);
  await once(late.signal(), "abort");
  assert.equal(late.reason()?.message, "too late");
  late.done();
  const aborted = start()(AbortSignal.abort(new Error("stopped")));
  assert.deepEqual([aborted.reason()?.message, aborted.signal().aborted], ["stopped", true]);
  aborted.done();
});

test("without a listener nothing is called", () => {
  const caller = new AbortController();
  const ending = start()(caller.signal);
  ending.listen(() => assert.fail("it was removed"));
  ending.unlisten();
  caller.abort(new Error("stopped"));
  ending.done();
});
