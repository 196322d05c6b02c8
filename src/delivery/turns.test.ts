import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurns } from "./turns.ts";

const { signal } = new AbortController();

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("a thousand of one key wait behind each other, one of another key is next", async () => {
  const turns = createTurns(1, () => 0);
  const order: string[] = [];
  let give = await turns.take("flood", signal);
  const ask = (key: string, name: string) =>
    turns.take(key, signal).then((back) => {
      order.push(name);
      give = back;
    });
  for (let i = 0; i < 1000; i++) void ask("flood", `f${i}`);
  void ask("calm", "c0");
  void ask("calm", "c1");
  for (let i = 0; i < 5; i++) {
    give();
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(order, ["f0", "c0", "f1", "c1", "f2"]);
});

test("who stops waiting leaves no gap, and a place given back twice is one place", async () => {
  const turns = createTurns(1, () => 0);
  const give = await turns.take("a", signal);
  const tired = new AbortController();
  const left = turns.take("a", tired.signal);
  const next = turns.take("b", signal);
  tired.abort(new Error("tired"));
  await assert.rejects(left, /tired/);
  give();
  give();
  const back = await next;
  let second = false;
  void turns.take("c", signal).then(() => (second = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(second, false);
  back();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(second, true);
});

test("alone a key has every place; beside another one that came lately it has a part of them", async () => {
  let now = 0;
  const turns = createTurns(8, () => now);
  const backs = await Promise.all(Array.from({ length: 8 }, () => turns.take("flood", signal)));
  let served = 0;
  const ask = async (key: string) => {
    const back = await turns.take(key, signal);
    served++;
    return back;
  };
  const calm = ask("calm");
  const flood = Array.from({ length: 4 }, () => ask("flood"));
  for (const back of backs.slice(0, 4)) back();
  await turn();
  assert.equal(served, 1, "the calm one alone: the flood still holds more than its part");
  (await calm)();
  for (const back of backs.slice(4)) back();
  await turn();
  assert.equal(served, 2, "one place for the flood while the calm one was here lately");
  now = 2000;
  (await flood[0]!)();
  await turn();
  assert.equal(served, 5, "and all that it wants when it is alone again");
});

test("a place rests as long as it was held while another key is active, and not at all otherwise", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const turns = createTurns(8, () => now);
  const pass = async (key: string, heldMs: number) => {
    const back = await turns.take(key, signal);
    now += heldMs;
    back();
  };
  // No timer fires here: a rest would never end.
  await pass("flood", 50);
  await pass("flood", 50);
  await pass("calm", 50);
  let passed = false;
  const second = pass("calm", 1).then(() => (passed = true));
  t.mock.timers.tick(49);
  await turn();
  assert.equal(passed, false, "its place rests for the 50 ms that it was held");
  t.mock.timers.tick(1);
  await second;
});
