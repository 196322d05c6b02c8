import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { textField, tokensField } from "./header.ts";

const unfold = (field: string) => field.replace(/\r\n(?=[ \t])/g, "").replace(/\r\n$/, "");

test("plain text stays plain and is folded at its spaces without changing them", () => {
  assert.equal(textField("Subject", "Hello"), "Subject: Hello\r\n");
  assert.equal(textField("Subject", ""), "Subject: \r\n");
  const long = "many  words ".repeat(40).trim();
  const field = textField("Subject", long);
  assert.equal(unfold(field), `Subject: ${long}`);
  for (const line of field.split("\r\n")) assert.ok(line.length <= 78);
});

test("text that a mail reader would trim or decode is encoded", () => {
  for (const text of [" x", "x ", " ", "=?utf-8?q?x?=", "tab\there"]) {
    assert.match(textField("Subject", text), /^Subject: =\?UTF-8\?[QB]\?[^ ]+\?=\r\n$/, JSON.stringify(text));
  }
});

test("encoded words contain whole characters and lines stay within the limit", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 }).filter((text) => !/[\r\n\0]/.test(text)),
      (text) => {
        const field = textField("Subject", text);
        const words = field.match(/=\?UTF-8\?[QB]\?[^?]*\?=/g);
        for (const line of field.split("\r\n")) assert.ok(line.length <= 78);
        if (words === null) return assert.equal(unfold(field), `Subject: ${text}`);
        for (const word of words) assert.ok(word.length <= 75);
        const decoder = new TextDecoder("utf-8", { fatal: true });
        assert.equal(words.map((word) => decoder.decode(decodeWord(word))).join(""), text);
      },
    ),
  );
});

test("a word that is too long for a line is encoded", () => {
  for (const line of textField("X-Long", "a".repeat(5000)).split("\r\n")) assert.ok(line.length <= 78);
  assert.equal(textField("X-Long", "a".repeat(300)), `X-Long: ${"a".repeat(300)}\r\n`);
});

test("lines stay within 998 characters with the longest field name", () => {
  for (const value of ["ü".repeat(200), "a".repeat(900), "a ".repeat(200)]) {
    for (const line of textField("X".repeat(76), value).split("\r\n")) assert.ok(line.length <= 998);
  }
});

test("a line break or NUL in any value throws", () => {
  for (const bad of ["a\rb", "a\nb", "a\0b", "\ud800"]) {
    assert.throws(() => textField("Subject", bad), /line break/);
    assert.throws(() => tokensField("To", ["ok", bad]), /line break/);
  }
});

function decodeWord(word: string): Buffer {
  const [, , kind, text] = word.split("?") as [string, string, string, string];
  if (kind === "B") return Buffer.from(text, "base64");
  return Buffer.from(
    text.replaceAll("_", " ").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
}
