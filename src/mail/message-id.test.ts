import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundReferences,
  MAX_REFERENCES,
  makeMessageId,
  parseMessageId,
  parseMessageIds,
  readMessageId,
} from "./message-id.ts";

const emailId = "em_01932c5e-7b1a-7abc-8def-0123456789ab";

test("a Message-ID is derived from the email's id, and the id can be read back from it", () => {
  const messageId = makeMessageId(emailId, "example.com");
  assert.equal(messageId, "<01932c5e-7b1a-7abc-8def-0123456789ab@example.com>");
  assert.deepEqual(readMessageId(messageId), { emailId, domain: "example.com" });
  assert.deepEqual(readMessageId(messageId.toUpperCase()), { emailId, domain: "example.com" });
});

test("other Message-IDs yield no email id", () => {
  for (const other of [
    "",
    "<a@b>",
    "<01932c5e@example.com>",
    emailId,
    `<${emailId}@example.com>`,
    "<01932c5e-7b1a-7abc-8def-0123456789ab@a b>",
  ]) {
    assert.equal(readMessageId(other), undefined);
  }
  assert.throws(() => makeMessageId("em_x", "example.com"));
});

test("an id in a request may have angle brackets or not; other text is refused", () => {
  assert.deepEqual(parseMessageId("a@b.example"), { ok: true, messageId: "<a@b.example>" });
  assert.deepEqual(parseMessageId(" <a@b.example> "), { ok: true, messageId: "<a@b.example>" });
  for (const bad of [
    "",
    "<>",
    "<a@b",
    "a@b>",
    "<a@b> <c@d>",
    "<a b@c>",
    "a\r\nBcc: x@y",
    "<a\0@b>",
    "<é@b>",
    "x".repeat(1000),
  ]) {
    const result = parseMessageId(bad);
    assert.ok(!result.ok && result.reason.startsWith("The Message-ID"), bad);
  }
});

test("the ids of a received header are read in order, without comments and folds, up to the limit", () => {
  assert.deepEqual(parseMessageIds("<a@b>\r\n <c@d>,(x) junk <e@f> <broken"), ["<a@b>", "<c@d>", "<e@f>"]);
  assert.deepEqual(parseMessageIds(""), []);
  assert.equal(parseMessageIds("<a@b>".repeat(5000)).length, MAX_REFERENCES);
  assert.deepEqual(parseMessageIds("<".repeat(64_000)), []);
  assert.deepEqual(parseMessageIds(`<${"a".repeat(2000)}> <a@b>`), ["<a@b>"]);
});

test("a chain of 1,000 references keeps its root and its nearest ancestors", () => {
  const chain = Array.from({ length: 1000 }, (_, i) => `<${i}@example.com>`);
  const kept = boundReferences(chain);
  assert.equal(kept.length, MAX_REFERENCES);
  assert.equal(kept[0], "<0@example.com>");
  assert.equal(kept[1], "<951@example.com>");
  assert.equal(kept.at(-1), "<999@example.com>");
  assert.deepEqual(boundReferences(["<a@b>", "<c@d>", "<a@b>"]), ["<a@b>", "<c@d>"]);
});
