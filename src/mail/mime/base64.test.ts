import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { base64LinesSize, canonicalBase64, isCanonicalBase64, writeBase64Lines } from "./base64.ts";

test("canonical base64 is returned unchanged, and common variants are normalized", () => {
  const text = Buffer.from("any file \xff\xfe?>").toString("base64");
  assert.equal(canonicalBase64(text), text);
  assert.equal(canonicalBase64(""), "");
  assert.equal(canonicalBase64(`${text.slice(0, 8)}\r\n ${text.slice(8)}\n`), text);
  assert.equal(canonicalBase64(text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")), text);
});

test("text that is not base64 is refused", () => {
  for (const bad of [
    "!",
    "a",
    "abcde",
    "====",
    "ab=c",
    "abc=def=",
    "YWJj!A==",
    "YWJj\0A==",
    "YWJjŁA==",
    "YWJj.YWJj",
    "YQ=",
    "data:;base64,YQ==",
  ]) {
    assert.equal(canonicalBase64(bad), undefined, bad);
  }
});

test("an invalid character is found at any position of a large text", () => {
  const text = Buffer.alloc(3 << 20, 1).toString("base64");
  for (const at of [0, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, text.length - 1]) {
    for (const bad of ["*", "-", "=", "\n"]) {
      const broken = text.slice(0, at) + bad + text.slice(at + 1);
      if (at === text.length - 1 && bad === "=") continue;
      assert.equal(isCanonicalBase64(broken), false);
      assert.equal(isCanonicalBase64(Buffer.from(broken)), false);
    }
  }
  assert.equal(isCanonicalBase64(text), true);
  assert.equal(isCanonicalBase64(Buffer.from(text)), true);
});

test("lines of 76 characters decode to the same octets, from a string or a buffer, at any offset", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(5), (bytes, offset) => {
      const text = Buffer.from(bytes).toString("base64");
      const target = Buffer.alloc(offset + base64LinesSize(text.length));
      for (const content of [text, Buffer.from(text)]) {
        assert.equal(writeBase64Lines(content, target, offset), target.length);
        const lines = target.toString("latin1", offset).split("\r\n");
        assert.equal(lines.pop(), "");
        for (const line of lines.slice(0, -1)) assert.equal(line.length, 76);
        assert.ok((lines.at(-1) ?? "").length <= 76);
        assert.deepEqual(Buffer.from(lines.join(""), "base64"), Buffer.from(bytes));
      }
    }),
  );
});
