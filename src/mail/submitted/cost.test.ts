import assert from "node:assert/strict";
import { test } from "node:test";
import { isCheap } from "./cost.ts";

const head = "From: a@b.test\r\nContent-Type: multipart/mixed; boundary=b\r\n";
const withBody = (body: string) => Buffer.from(`${head}\r\n${body}`);
const kib = 1024;

test("an ordinary message is prepared at once", () => {
  assert.ok(isCheap(withBody("text\r\n")));
  assert.ok(isCheap(withBody(`${"x".repeat(70)}\r\n`.repeat(800))));
  assert.ok(isCheap(withBody("\r\n--b\r\n\r\ntext".repeat(20))));
  assert.ok(isCheap(Buffer.alloc(0)));
});

test("large messages, large headers, much 8-bit text and many parts are prepared in a thread", () => {
  assert.ok(!isCheap(withBody("x".repeat(64 * kib))));
  assert.ok(!isCheap(withBody("ü".repeat(8 * kib))));
  assert.ok(isCheap(withBody("ü".repeat(4 * kib))));
  assert.ok(!isCheap(Buffer.from(`To: ${"a@b.test,\r\n ".repeat(1000)}c@b.test\r\n\r\ntext`)));
  assert.ok(!isCheap(withBody("\r\n--b\r\n\r\ntext".repeat(21))));
});
