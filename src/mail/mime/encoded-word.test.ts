import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeWords, looksEncoded } from "./encoded-word.ts";

const limits = { first: 60, rest: 75, phrase: false };

/** Decodes each word separately, as RFC 2047 requires. */
function decode(words: string[]): string {
  return words
    .map((word) => {
      const [, form, text] = /^=\?UTF-8\?([BQ])\?(.*)\?=$/.exec(word)!;
      if (form === "B") return Buffer.from(text!, "base64").toString();
      const bytes = text!
        .replaceAll("_", " ")
        .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
      return Buffer.from(bytes, "latin1").toString();
    })
    .join("");
}

test("the shorter of the encodings B and Q is used", () => {
  assert.deepEqual(encodeWords("grün ist es", limits), ["=?UTF-8?Q?gr=C3=BCn_ist_es?="]);
  assert.deepEqual(encodeWords("你好", limits), ["=?UTF-8?B?5L2g5aW9?="]);
});

test("words stay within their limits, never split a character, and decode to the original text", () => {
  for (const text of [
    "ü".repeat(80),
    "你好，世界".repeat(20),
    "👍🏽 good ".repeat(20),
    `a${"😀".repeat(40)}`,
    "=?UTF-8?Q?x?=",
  ]) {
    const words = encodeWords(text, limits);
    assert.equal(decode(words), text);
    for (const [i, word] of words.entries()) assert.ok(word.length <= (i === 0 ? limits.first : limits.rest), word);
    assert.ok(words.every((word) => !decode([word]).includes("\ufffd")));
  }
});

test("fewer characters stay unencoded in a phrase", () => {
  assert.deepEqual(encodeWords('ü"(,)', { ...limits, phrase: true }), ["=?UTF-8?B?w7wiKCwp?="]);
  assert.match(encodeWords("ü and others, at last", { ...limits, phrase: true })[0]!, /=2C/);
  assert.ok(looksEncoded("a =?x") && !looksEncoded("a = ?"));
});
