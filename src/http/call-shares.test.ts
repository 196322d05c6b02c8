import assert from "node:assert/strict";
import { test } from "node:test";
import { createCallShares, ownerOf } from "./call-shares.ts";
import { type Caller, noWorkspace } from "./caller.ts";

const caller = (workspaceId: string, keyId = "k"): Caller => ({
  workspaceId,
  keyId,
  permission: "full",
  test: false,
});

test("a workspace gets half of the calls, whatever its keys; others keep theirs, and ended calls are given back once", () => {
  const calls = createCallShares({ total: 8 });
  const ends = ["a", "b", "c", "d"].map((key) => calls.begin(caller("flood", key)));
  assert.throws(() => calls.begin(caller("flood", "e")), { code: "resource_exhausted", retryAfterMs: 1_000 });
  calls.begin(caller("calm"));
  ends[0]!();
  ends[0]!();
  assert.equal(calls.count(), 4);
});

test("the owner of a call is its workspace, or the person who has not named one", () => {
  const person = { id: "p", email: "p@example.test", role: undefined };
  assert.equal(ownerOf(caller("w")), "w");
  assert.equal(ownerOf({ ...caller("w"), person }), "w");
  assert.equal(ownerOf({ ...caller(""), person }), "p");
  assert.equal(ownerOf({ ...caller(noWorkspace), person }), "p", "people without a workspace share nothing");
  assert.equal(ownerOf(caller("", "k1")), "k1");
});
