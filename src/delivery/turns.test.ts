import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurns } from "./turns.ts";

const { signal } = new AbortController();

test("a thousand of one key wait behind each other, one of another key is next", async () => {
  const turns = createTurns(1);
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
  const turns = createTurns(1);
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
