import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { createReplyWriter, replyLines } from "./socket.ts";

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

test("replies to commands that arrived at once are one write", async () => {
  const writes: string[] = [];
  const socket = { writable: true, write: (text: string) => writes.push(text) } as unknown as Socket;
  const replies = createReplyWriter(() => socket);
  replies.write("250 a\r\n");
  await Promise.resolve();
  replies.write("250 b\r\n");
  assert.deepEqual(writes, []);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(writes, ["250 a\r\n250 b\r\n"]);
  replies.write("354 c\r\n");
  replies.flush();
  assert.equal(writes[1], "354 c\r\n");
  replies.write("x".repeat(5000));
  assert.equal(writes.length, 3, "much text is written at once");
});
