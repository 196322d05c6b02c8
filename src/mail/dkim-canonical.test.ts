import assert from "node:assert/strict";
import { test } from "node:test";
import { relaxedField, splitHeader } from "./dkim-canonical.ts";

test("header fields are canonicalized as in RFC 6376 §3.4.5", () => {
  assert.equal(relaxedField("A", " X"), "a:X");
  assert.equal(relaxedField("B ".trim(), " Y\t\r\n\tZ  "), "b:Y Z");
  assert.equal(relaxedField("Subject", " caf\xc3\xa0\xa0"), "subject:caf\xc3\xa0\xa0", "0xA0 is not white space here");
});

test("a header is split into fields with their folded lines, and a line without a name throws", () => {
  assert.deepEqual(splitHeader("From: a\r\nSubject: b\r\n c\r\nX : d"), [
    { name: "From", value: " a" },
    { name: "Subject", value: " b\r\n c" },
    { name: "X", value: " d" },
  ]);
  assert.throws(() => splitHeader("From: a\r\nnonsense"), /without a name/);
});
