import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnswerCache, longestKeptMs } from "./answer-cache.ts";

test("an answer is kept for its time, at most ten seconds, and a failure is not kept", () => {
  let now = 0;
  const cache = createAnswerCache(() => now);
  cache.put("short.test", "TXT", { records: [["v=spf1 -all"]], keepMs: 500 });
  cache.put("long.test", "TXT", { code: "ENOTFOUND", keepMs: 3_600_000 });
  cache.put("failed.test", "TXT", { code: "ESERVFAIL", keepMs: 0 });
  const known = () => ["short.test", "long.test", "failed.test"].map((name) => cache.get(name, "TXT") !== undefined);
  assert.deepEqual(known(), [true, true, false]);
  assert.equal(cache.get("short.test", "MX"), undefined);
  now = 500;
  assert.deepEqual(known(), [false, true, false]);
  now = longestKeptMs;
  assert.deepEqual(known(), [false, false, false]);
});

test("what a caller changes in its records changes nothing for the next one", () => {
  const cache = createAnswerCache();
  cache.put("there.test", "TXT", { records: [["a"]], keepMs: 1000 });
  const first = cache.get("there.test", "TXT") as { records: string[][] };
  first.records[0]!.push("b");
  first.records.pop();
  assert.deepEqual((cache.get("there.test", "TXT") as { records: unknown[] }).records, [["a"]]);
});

test("neither many names nor large answers fill the memory", () => {
  const cache = createAnswerCache();
  cache.put("large.test", "TXT", { records: [["x".repeat(5000)]], keepMs: 1000 });
  assert.equal(cache.get("large.test", "TXT"), undefined);
  for (let i = 0; i < 1500; i++) cache.put(`n${i}.test`, "TXT", { code: "ENODATA", keepMs: 1000 });
  assert.equal(cache.get("n0.test", "TXT"), undefined);
  assert.ok(cache.get("n1499.test", "TXT"));
});
