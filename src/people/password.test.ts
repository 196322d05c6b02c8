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
  const all = await Promise.allSettled(Array.from({ length: 60 }, () => hasher.hash("a long password")));
  const refused = all.filter((one) => one.status === "rejected").map((one) => one.reason as unknown);
  assert.equal(refused.length, 8, "two at work, fifty in line");
  assert.ok(refused.every((reason) => reason instanceof Problem && reason.code === "resource_exhausted"));
  assert.ok((await hasher.hash("a long password")).length > 0, "afterwards there is room again");
});
