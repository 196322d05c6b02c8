import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurns } from "./turns.ts";

const { signal } = new AbortController();

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

test("a thousand waiting calls of one key do not delay another key", async () => {
  const turns = createTurns(1, () => 0);
  const order: string[] = [];
  let release = await turns.take("flood", signal);
  const take = (key: string, name: string) =>
    turns.take(key, signal).then((releaseSlot) => {
      order.push(name);
      release = releaseSlot;
    });
  for (let i = 0; i < 1000; i++) void take("flood", `f${i}`);
  void take("calm", "c0");
  void take("calm", "c1");
  for (let i = 0; i < 5; i++) {
    release();
    await nextTick();
  }
  assert.deepEqual(order, ["f0", "c0", "f1", "c1", "f2"]);
});

test("an aborted wait is skipped, and releasing a slot twice frees it once", async () => {
  const turns = createTurns(1, () => 0);
  const release = await turns.take("a", signal);
  const abort = new AbortController();
  const aborted = turns.take("a", abort.signal);
  const next = turns.take("b", signal);
  abort.abort(new Error("aborted by the test"));
  await assert.rejects(aborted, /aborted by the test/);
  release();
  release();
  const releaseNext = await next;
  let second = false;
  void turns.take("c", signal).then(() => (second = true));
  await nextTick();
  assert.equal(second, false);
  releaseNext();
  await nextTick();
  assert.equal(second, true);
});

test("a single key gets every slot; next to a recently active key it gets a part of them", async () => {
  let now = 0;
  const turns = createTurns(8, () => now);
  const releases = await Promise.all(Array.from({ length: 8 }, () => turns.take("flood", signal)));
  let served = 0;
  const take = async (key: string) => {
    const release = await turns.take(key, signal);
    served++;
    return release;
  };
  const calm = take("calm");
  const flood = Array.from({ length: 4 }, () => take("flood"));
  for (const release of releases.slice(0, 4)) release();
  await nextTick();
  assert.equal(served, 1, "only the calm key: the flood still uses more than its share");
  (await calm)();
  for (const release of releases.slice(4)) release();
  await nextTick();
  assert.equal(served, 2, "one slot for the flood while the calm key counts as active");
  now = 2000;
  (await flood[0]!)();
  await nextTick();
  assert.equal(served, 5, "every slot once the flood is the only active key");
});

test("a released slot pauses for as long as it was in use while another key is active, and not otherwise", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const turns = createTurns(8, () => now);
  const use = async (key: string, forMs: number) => {
    const release = await turns.take(key, signal);
    now += forMs;
    release();
  };
  // No timer fires here, so a pause would never end.
  await use("flood", 50);
  await use("flood", 50);
  await use("calm", 50);
  let finished = false;
  const second = use("calm", 1).then(() => (finished = true));
  t.mock.timers.tick(49);
  await nextTick();
  assert.equal(finished, false, "the slot pauses for the 50 ms that it was in use");
  t.mock.timers.tick(1);
  await second;
});

test("a single key with costly work takes fewer slots, so that another key finds one free", async () => {
  const turns = createTurns(8, () => 0);
  let served = 0;
  const flood = Array.from({ length: 8 }, () => turns.take("flood", signal, 4).then(() => served++));
  await nextTick();
  assert.equal(served, 2, "a quarter of the slots");
  const release = await turns.take("calm", signal);
  release();
  assert.equal(flood.length, 8);
});

test("costly work is never starved: next to many active keys it gets one slot like they do", async () => {
  const turns = createTurns(4, () => 0);
  for (const key of ["a", "b", "c"]) await turns.take(key, signal);
  await turns.take("costly", signal, 16);
  let second = false;
  void turns.take("costly", signal, 16).then(() => (second = true));
  await nextTick();
  assert.equal(second, false);
});
