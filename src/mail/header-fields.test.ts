import assert from "node:assert/strict";
import { test } from "node:test";
import { checkHeaderField } from "./header-fields.ts";

const reasonFor = (name: string, value = "x") => {
  const result = checkHeaderField(name, value);
  return result.ok ? undefined : result.reason;
};

test("ordinary custom fields are accepted", () => {
  for (const [name, value] of [
    ["X-Order-Id", "42"],
    ["List-Unsubscribe", "<https://example.com/u?t=1>, <mailto:u@example.com>"],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
    ["List-Id", "Größe <news.example.com>"],
    ["Auto-Submitted", "auto-generated"],
    ["Feedback-ID", "a:b:c"],
    ["Importance", "high"],
    ["X-Empty", ""],
    ["X-Unicode", "straße\t→"],
  ] as const) {
    assert.equal(reasonFor(name, value), undefined, name);
  }
});

test("fields that the service, mail servers or the request's own fields set are refused in upper and lower case", () => {
  for (const name of (
    "From To Cc Bcc Sender Subject Date Message-ID In-Reply-To References Reply-To MIME-Version Content-Type " +
    "Content-Transfer-Encoding content-anything DKIM-Signature ARC-Seal ARC-Message-Signature Received Return-Path " +
    "Resent-From Authentication-Results Delivered-To X-Posthorn-Copy"
  ).split(" ")) {
    assert.match(reasonFor(name)!, /cannot be set here/, name);
    assert.match(reasonFor(name.toUpperCase())!, /cannot be set here/, name);
  }
});

test("invalid header names are refused", () => {
  for (const name of ["", "X Y", "X:Y", "X\r\nBcc", "Ü", "X\0", "X\t", "x".repeat(77)]) {
    assert.match(reasonFor(name)!, /header name/, JSON.stringify(name));
  }
  assert.equal(reasonFor("constructor"), undefined, "a property of Object.prototype is an ordinary name");
});

test("values with a line break, invalid Unicode or too many octets are refused", () => {
  for (const value of ["a\r\nBcc: x@example.com", "a\n", "\r", "a\0"])
    assert.match(reasonFor("X-A", value)!, /line break or NUL/);
  assert.match(reasonFor("X-A", "\ud800")!, /Unicode/);
  assert.match(reasonFor("X-A", "é".repeat(3000))!, /6000 octets; at most 4096/);
  assert.match(reasonFor("List-Unsubscribe", "<https://example.com/ü>")!, /percent-encode/);
  assert.match(reasonFor("List-Unsubscribe", `<https://example.com/${"a".repeat(900)}>`)!, /900/);
});
