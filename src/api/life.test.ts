import assert from "node:assert/strict";
import { test } from "node:test";
import { beforeEnd, CallLife, lifeOf } from "./life.ts";

test("a call ends once, for the first reason, and tells whoever listens", () => {
  const life = new CallLife();
  const heard: string[] = [];
  life.onOver(() => heard.push("one"));
  const unsubscribe = life.onOver(() => heard.push("two"));
  unsubscribe();
  assert.equal(life.over(), undefined);
  life.end("deadline passed");
  life.end("caller left");
  assert.deepEqual([life.over()?.code, heard], ["deadline_exceeded", ["one"]]);
});

test("its signal is aborted with it, whether it was asked for before or after", () => {
  const [early, late] = [new CallLife(), new CallLife()];
  const { signal } = early;
  assert.equal(signal.aborted, false);
  early.end("caller left");
  late.end("caller left");
  assert.equal(signal, early.signal);
  assert.equal((signal.reason as { code: string }).code, "canceled");
  assert.equal(late.signal.aborted, true);
});

test("Connect's signal tells a passed deadline from a caller that left", () => {
  for (const [code, expected] of [
    [4, "deadline_exceeded"],
    [1, "canceled"],
  ] as const) {
    const controller = new AbortController();
    const life = lifeOf(controller.signal);
    let heard = 0;
    life.onOver(() => heard++);
    assert.equal(life.over(), undefined);
    controller.abort({ code });
    assert.deepEqual([life.over()?.code, heard], [expected, 1]);
  }
});

test("work is answered as it ends, or given up with the reason; never once it must be seen through", async () => {
  const life = new CallLife();
  assert.equal(await beforeEnd(life, Promise.resolve(1)), 1);
  await assert.rejects(beforeEnd(life, Promise.reject(new Error("its own"))), /its own/);
  const never = beforeEnd(life, new Promise(() => {}));
  const slow = Promise.withResolvers<number>();
  const seenThrough = beforeEnd(life, slow.promise, () => true);
  life.end("deadline passed");
  await assert.rejects(never, { code: "deadline_exceeded" });
  slow.resolve(2);
  assert.equal(await seenThrough, 2);
  await assert.rejects(beforeEnd(life, new Promise(() => {})), { code: "deadline_exceeded" });
});
