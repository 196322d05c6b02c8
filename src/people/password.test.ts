import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Problem } from "../ops/problem.ts";
import { createHasher, judgePassword } from "./password.ts";

it("hashes every password with its own salt, and verifies only the right one", async () => {
  const hasher = createHasher();
  const [one, two] = await Promise.all([hasher.hash("a long password"), hasher.hash("a long password")]);
  assert.notEqual(one, two);
  assert.equal(await hasher.verify(one, "a long password"), true);
  assert.equal(await hasher.verify(one, "a long passwore"), false);
});

it("queues a flood of hashes and refuses the ones beyond the queue's limit", async () => {
  const hasher = createHasher();
  // Two running and two queued hashes take their time. The rest of the queue verifies invalid hashes, which the library refuses at once.
  const hashes = Array.from({ length: 4 }, () => hasher.hash("a long password"));
  const queued = Array.from({ length: 56 }, () => hasher.verify("not a hash", "a long password"));
  const reasons = (await Promise.allSettled(queued)).map((one) => (one as PromiseRejectedResult).reason as Error);
  const refused = reasons.filter((reason) => reason instanceof Problem);
  assert.equal(refused.length, 8, "two run, fifty wait");
  assert.deepEqual(reasons.slice(-8), refused, "the last ones are refused");
  assert.ok(refused.every((reason) => reason.code === "resource_exhausted"));
  for (const served of reasons.slice(0, -8)) assert.match(served.message, /hash/i);
  assert.equal(new Set(await Promise.all(hashes)).size, 4);
  assert.ok((await hasher.hash("a long password")).length > 0, "slots are free again afterwards");
});

describe("a password", () => {
  it("has 10 to 128 characters of any kind", () => {
    for (const word of ["x".repeat(10), "x".repeat(128), "pass word ünï", "🎺".repeat(10)])
      assert.deepEqual(judgePassword(word, "password"), []);
    for (const word of ["", "x".repeat(9), "🎺".repeat(9), "x".repeat(129), `${"x".repeat(10)}\ud800`])
      assert.equal(judgePassword(word, "password").length, 1, JSON.stringify(word));
  });
});
