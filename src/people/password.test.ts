import assert from "node:assert/strict";
import { it } from "node:test";
import { Problem } from "../rules/problem.ts";
import { createHasher } from "./password.ts";

it("hashes each with a salt of its own, and knows the right one again", async () => {
  const hasher = createHasher();
  const [one, two] = await Promise.all([hasher.hash("a long password"), hasher.hash("a long password")]);
  assert.notEqual(one, two);
  assert.equal(await hasher.verify(one, "a long password"), true);
  assert.equal(await hasher.verify(one, "a long passwore"), false);
});

it("serves a flood in turn and refuses what it cannot serve soon", async () => {
  const hasher = createHasher();
  // Two at work and two in line take their time; the rest of the line holds what is not a hash, which the library refuses at once.
  const hashes = Array.from({ length: 4 }, () => hasher.hash("a long password"));
  const line = Array.from({ length: 56 }, () => hasher.verify("not a hash", "a long password"));
  const reasons = (await Promise.allSettled(line)).map((one) => (one as PromiseRejectedResult).reason as Error);
  const refused = reasons.filter((reason) => reason instanceof Problem);
  assert.equal(refused.length, 8, "two at work, fifty in line");
  assert.deepEqual(reasons.slice(-8), refused, "those who came last");
  assert.ok(refused.every((reason) => reason.code === "resource_exhausted"));
  for (const served of reasons.slice(0, -8)) assert.match(served.message, /hash/i);
  assert.equal(new Set(await Promise.all(hashes)).size, 4);
  assert.ok((await hasher.hash("a long password")).length > 0, "afterwards there is room again");
});
