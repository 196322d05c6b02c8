import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../test/harness/wait.ts";
import { createLoader } from "./loader.ts";

test("keys requested together, or during a query, share one query, and each caller gets its own value", async () => {
  const batches: number[][] = [];
  let answer = () => {};
  const answering = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const load = createLoader<number, string>(async (keys) => {
    batches.push(keys);
    await answering;
    return keys.map((key) => `value ${key}`);
  });
  const first = [1, 2].map((key) => load(key));
  await until("the first query", () => batches.length === 1);
  const second = [3, 4].map((key) => load(key));
  answer();
  const answers = await Promise.all([...first, ...second]);
  assert.deepEqual(answers, ["value 1", "value 2", "value 3", "value 4"]);
  assert.deepEqual(batches, [
    [1, 2],
    [3, 4],
  ]);
});

test("a failed query fails only its own callers", async () => {
  let calls = 0;
  const load = createLoader<number, number>(async (keys) => {
    if (calls++ === 0) throw new Error("unavailable");
    return keys;
  });
  await assert.rejects(load(1), /unavailable/);
  assert.equal(await load(2), 2);
});
