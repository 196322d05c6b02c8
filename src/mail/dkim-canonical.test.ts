import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { relaxedBodyHash, relaxedField, splitHeader } from "./dkim-canonical.ts";

const hashOf = (text: string) => createHash("sha256").update(text).digest("base64");

test("header fields are canonicalized as in RFC 6376 §3.4.5", () => {
  assert.equal(relaxedField("A", " X"), "a:X");
  assert.equal(relaxedField("B ".trim(), " Y\t\r\n\tZ  "), "b:Y Z");
  assert.equal(relaxedField("Subject", " caf\xc3\xa0\xa0"), "subject:caf\xc3\xa0\xa0", "0xA0 is not white space here");
});

test("in a body, white space is reduced to one space and removed at line ends, and trailing empty lines are removed", () => {
  assert.equal(relaxedBodyHash(Buffer.from(" C \r\nD \t E\r\n\r\n\r\n")), hashOf(" C\r\nD E\r\n"));
  assert.equal(relaxedBodyHash(Buffer.from("plain\r\n")), hashOf("plain\r\n"));
  assert.equal(relaxedBodyHash(Buffer.from("no end")), hashOf("no end\r\n"));
  assert.equal(relaxedBodyHash(Buffer.from("\r\n\r\n")), hashOf(""));
  assert.equal(relaxedBodyHash(Buffer.from("")), hashOf(""));
});

test("a header is split into fields with their folded lines, and a line without a name throws", () => {
  assert.deepEqual(splitHeader("From: a\r\nSubject: b\r\n c\r\nX : d"), [
    { name: "From", value: " a" },
    { name: "Subject", value: " b\r\n c" },
    { name: "X", value: " d" },
  ]);
  assert.throws(() => splitHeader("From: a\r\nnonsense"), /without a name/);
});
