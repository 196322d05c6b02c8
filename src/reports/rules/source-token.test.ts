import assert from "node:assert/strict";
import { test } from "node:test";
import { positionOf, tokenOf } from "./source-token.ts";

test("a token contains the position", () => {
  for (const position of [
    { messages: 17, ip: "192.0.2.1" },
    { messages: 9_007_199_254_740_991, ip: "2001:db8::1" },
    { messages: 0, ip: "" },
  ])
    assert.deepEqual(positionOf(tokenOf(position)), position);
});

test("another text is no token", () => {
  for (const text of ["x", "AAAA", "é", Buffer.from("1 nonsense").toString("base64url"), "a".repeat(1000)])
    assert.equal(positionOf(text), null, text);
});
