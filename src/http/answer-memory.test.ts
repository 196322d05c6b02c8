import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnswerMemory } from "./answer-memory.ts";
import { CallCancellation } from "./call.ts";

const mib = 1024 * 1024;
const limits = { totalBytes: 100 * mib, waitMs: 20, loadedWaiters: 1, waiters: 2 };
const notCanceled = () => new CallCancellation();
const refused = { code: "resource_exhausted", retryAfterMs: 2_000 };

test("one owner holds at most half, and its further answers are refused after a wait; another owner is served", async () => {
  const memory = createAnswerMemory(limits);
  const open = (owner: string) => memory.open(owner, notCanceled());
  const first = open("flood");
  await first.hold(40 * mib);
  await assert.rejects(open("flood").hold(20 * mib), refused);
  await open("calm").hold(20 * mib);
  assert.equal(memory.usedBytes(), 60 * mib);
  const waiting = open("flood").hold(20 * mib);
  first.release();
  await waiting;
  assert.equal(memory.usedBytes(), 40 * mib);
});

test("an answer larger than the share is granted when its owner holds nothing, and counts as the share", async () => {
  const memory = createAnswerMemory(limits);
  const large = memory.open("a", notCanceled());
  await large.hold(500 * mib);
  assert.equal(memory.usedBytes(), 50 * mib);
  await memory.open("b", notCanceled()).hold(30 * mib);
  await memory.open("c", notCanceled()).hold(10 * mib);
  large.release();
  large.release();
  assert.equal(memory.usedBytes(), 40 * mib);
});

test("a hold changes with the size of the answer, and small answers are not counted", async () => {
  const memory = createAnswerMemory(limits);
  const answer = memory.open("a", notCanceled());
  await answer.hold(30 * mib);
  await answer.hold(10 * mib, { isLoaded: true });
  assert.equal(memory.usedBytes(), 10 * mib);
  await answer.hold(20 * mib, { isLoaded: true });
  assert.equal(memory.usedBytes(), 20 * mib);
  await answer.hold(1000, { isLoaded: true });
  assert.equal(memory.usedBytes(), 0);
});

test("a loaded answer that needs more than it reserved keeps its memory when there is no more", async () => {
  const memory = createAnswerMemory({ ...limits, waitMs: 60_000 });
  const answer = memory.open("a", notCanceled());
  await answer.hold(20 * mib);
  const other = memory.open("a", notCanceled());
  await other.hold(25 * mib);
  const waiting = memory.open("a", notCanceled()).hold(10 * mib);
  await answer.hold(40 * mib, { isLoaded: true });
  assert.equal(memory.usedBytes(), 45 * mib);
  other.release();
  await waiting;
  assert.equal(memory.usedBytes(), 30 * mib);
});

test("few answers wait while they are in memory, and more that are not loaded yet", async () => {
  const memory = createAnswerMemory({ ...limits, waitMs: 60_000 });
  const cancellation = new CallCancellation();
  const open = () => memory.open("a", cancellation);
  await open().hold(50 * mib);
  const waits = [assert.rejects(open().hold(10 * mib, { isLoaded: true }), { code: "canceled" })];
  await assert.rejects(open().hold(10 * mib, { isLoaded: true }), refused);
  for (let i = 0; i < 2; i++) waits.push(assert.rejects(open().hold(10 * mib), { code: "canceled" }));
  await assert.rejects(open().hold(10 * mib), refused);
  cancellation.end("caller left");
  await Promise.all(waits);
  assert.equal(memory.usedBytes(), 50 * mib);
});

test("memory that is granted after the client has left is given back", async () => {
  const memory = createAnswerMemory(limits);
  const [first, late] = [memory.open("a", notCanceled()), memory.open("a", notCanceled())];
  await first.hold(50 * mib);
  const waiting = late.hold(10 * mib);
  late.release();
  first.release();
  await assert.rejects(waiting, { code: "aborted" });
  assert.equal(memory.usedBytes(), 0);
});

test("a call that has ended gets no more memory, and its handler learns why", async () => {
  const memory = createAnswerMemory(limits);
  const cancellation = new CallCancellation();
  const hold = memory.open("a", cancellation);
  cancellation.end("deadline passed");
  hold.release();
  await assert.rejects(hold.hold(10 * mib), { code: "deadline_exceeded" });
  assert.equal(memory.usedBytes(), 0);
});
