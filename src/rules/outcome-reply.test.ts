/** How a reply is looked up; what receivers really say, and what it means, is in outcome.test.ts and its corpus. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Phase } from "./outcome-evidence.ts";
import { readReply } from "./outcome-reply.ts";

const categoryOf = (phase: Phase, code: number, enhanced: string | null, text: string) =>
  readReply(phase, { code, enhanced, text, line: "" }).category;

test("words come before the enhanced code, which comes before the plain one", () => {
  assert.equal(categoryOf("rcpt", 550, "5.1.1", "you are greylisted"), "greylisted");
  assert.equal(categoryOf("rcpt", 550, "5.1.1", "xyz"), "unknown-mailbox");
  assert.equal(categoryOf("rcpt", 599, null, "xyz"), "other");
});

test("nothing is known of a mailbox before one was named", () => {
  assert.equal(categoryOf("mail", 550, "5.1.1", "xyz"), "sender-rejected");
  assert.equal(categoryOf("connect", 550, "5.1.1", "xyz"), "other");
  assert.equal(categoryOf("auth", 535, "5.7.8", "xyz"), "relay-login");
});

test("an address that the reply repeats says nothing, and neither does what stands far behind", () => {
  assert.equal(categoryOf("rcpt", 550, "5.1.1", "<greylisted@there.test> xyz"), "unknown-mailbox");
  assert.equal(categoryOf("rcpt", 550, "5.1.1", `${"x ".repeat(600)}greylisted`), "unknown-mailbox");
  assert.equal(categoryOf("rcpt", 450, null, "you\r\n are\t grey-listed"), "greylisted");
});
