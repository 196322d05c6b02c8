import assert from "node:assert/strict";
import { test } from "node:test";
import { createLoader } from "./loader.ts";

test("keys asked for while a look-up is under way share the next one, each with its own answer", async () => {
  const batches: number[][] = [];
  const load = createLoader<number, string>(async (keys) => {
    batches.push(keys);
    await new Promise(setImmediate);
    return keys.map((key) => `value ${key}`);
  });
  const answers = await Promise.all([1, 2, 3, 4].map((key) => load(key)));
  assert.deepEqual(answers, ["value 1", "value 2", "value 3", "value 4"]);
  assert.deepEqual(batches, [[1], [2, 3, 4]]);
});

test("a failed look-up fails its own callers and nobody else", async () => {
  let calls = 0;
  const load = createLoader<number, number>(async (keys) => {
    if (calls++ === 0) throw new Error("away");
    return keys;
  });
  const first = load(1);
  const second = load(2);
  await assert.rejects(first, /away/);
  assert.equal(await second, 2);
});
