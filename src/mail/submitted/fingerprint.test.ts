import assert from "node:assert/strict";
import { test } from "node:test";
import { contentDigest, exactDigest } from "./fingerprint.ts";

const message = (boundary: string, text: string) =>
  Buffer.from(
    `From: a@b.test\r\nContent-Type: multipart/mixed; boundary=${boundary}\r\n\r\n--${boundary}\r\n\r\n${text}\r\n--${boundary}--\r\n`,
  );

test("the exact digest depends on every octet and on the order of recipients", () => {
  const raw = message("b", "text");
  assert.equal(exactDigest(raw, ["a", "b"]), exactDigest(raw, ["a", "b"]));
  assert.notEqual(exactDigest(raw, ["a", "b"]), exactDigest(raw, ["ab"]));
  assert.notEqual(exactDigest(raw, ["a"]), exactDigest(message("c", "text"), ["a"]));
});

test("the content digest ignores boundaries and the order of recipients", () => {
  const digest = (boundary: string, text: string, to = ["a", "b"]) => contentDigest(message(boundary, text), {}, to);
  assert.equal(digest("one", "text"), digest("two", "text", ["b", "a"]));
  assert.notEqual(digest("one", "text"), digest("one", "other"));
  assert.notEqual(digest("one", "text"), digest("one", "text", ["a"]));
});
