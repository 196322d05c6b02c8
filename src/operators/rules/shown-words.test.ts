import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { shownWords } from "./shown-words.ts";

const token = "q7Rt".repeat(10).concat("abc");

test("the words of a receiver are shown without a link that they quote", () => {
  assert.equal(shownWords("550 5.1.1 No such user here"), "550 5.1.1 No such user here");
  const cases = [
    `554 5.7.1 Blocked: https://mail.example.test/invitation#token=${token} is listed`,
    `554 5.7.1 Blocked: invitation#token=3D${token.slice(0, 20)}=\r\n${token.slice(20)}`,
    `554 5.7.1 Blocked: invitation%23token%3D${token}`,
    `554 5.7.1 Blocked: ${token}`,
  ];
  for (const words of cases) {
    assert.match(shownWords(words), /^554 5\.7\.1 Blocked: /);
    for (const part of [token.slice(0, 10), token.slice(-10)]) assert.ok(!shownWords(words).includes(part), words);
  }
});

test("control characters are not shown, and long texts are cut", () => {
  assert.equal(shownWords("550 \u001b[2Jgone\r\n\u202eok"), "550 [2Jgone ok");
  assert.equal(shownWords("ab 😀", 4), "ab …");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const shown = shownWords(text, 20);
      assert.ok(shown.length <= 21 && !/[\p{Cc}\u202a-\u202e]/u.test(shown) && shown.isWellFormed());
    }),
  );
});
