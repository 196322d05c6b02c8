import assert from "node:assert/strict";
import { test } from "node:test";
import { replyLines } from "./socket.ts";

test("a short reply is one line in ASCII", () => {
  assert.equal(replyLines("250 2.0.0 ok"), "250 2.0.0 ok\r\n");
  assert.equal(replyLines("334 "), "334 \r\n");
  assert.equal(replyLines("550 5.7.1 a\r\n250 b ü"), "550 5.7.1 a 250 b ?\r\n");
});

test("a long reply has several lines, each with the codes and at most 512 octets", () => {
  const words = Array.from({ length: 300 }, (_, i) => `word${i}`).join(" ");
  for (const text of [words, "x".repeat(2000)]) {
    const lines = replyLines(`550 5.7.1 ${text}`).split("\r\n").slice(0, -1);
    assert.ok(lines.length > 2);
    for (const [i, line] of lines.entries()) {
      assert.ok(line.length <= 510);
      assert.equal(line.slice(0, 10), `550${i < lines.length - 1 ? "-" : " "}5.7.1 `);
    }
    const joined = lines.map((line) => line.slice(10)).join(text === words ? " " : "");
    assert.equal(joined, text);
  }
});
