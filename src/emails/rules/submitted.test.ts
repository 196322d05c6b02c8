import assert from "node:assert/strict";
import { test } from "node:test";
import { prepare } from "../../mail/submitted/prepare.ts";
import { checkSubmitted } from "./submitted.ts";

const limits = { recipients: 3, messageBytes: 1000, attachments: 1 };
const nowMs = Date.parse("2030-01-01T00:00:00Z");
const check = (lines: string[], recipients: string[]) => {
  const message = prepare(
    Buffer.from(`From: a@shop.test\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`),
    recipients,
  );
  return checkSubmitted({ message, recipients }, { limits, nowMs });
};

test("the header says which recipients are blind copies, and each mailbox counts once", () => {
  const checked = check(
    ["To: Ann <ann@there.test>", "Cc: bob@there.test"],
    ["ANN@there.test", "bob@there.test", "eve@there.test"],
  );
  assert.ok(checked.ok);
  assert.deepEqual(
    checked.email.recipients.map(({ kind, address }) => [kind, address]),
    [
      ["to", "ANN@there.test"],
      ["cc", "bob@there.test"],
      ["bcc", "eve@there.test"],
    ],
  );
  assert.deepEqual(
    checked.email.bcc.map(({ address }) => address),
    ["eve@there.test"],
  );
});

test("the limits of the API hold", () => {
  const fields = (lines: string[], recipients = ["a@b.test"]) => {
    const checked = check(lines, recipients);
    return checked.ok ? [] : checked.violations.map(({ field }) => field);
  };
  assert.deepEqual(fields([]), []);
  assert.deepEqual(fields([], ["a@b.test", "c@b.test", "d@b.test", "e@b.test"]), ["RCPT"]);
  assert.deepEqual(fields([], ["no-address"]), ["RCPT"]);
  assert.deepEqual(fields([`X-A: ${"x".repeat(990)}`]), ["DATA"]);
  assert.deepEqual(fields([`X-Posthorn-Metadata-${"k".repeat(65)}: v`]), [`metadata["${"k".repeat(64)}"]`]);
  assert.deepEqual(fields(["X-Posthorn-Scheduled-At: 2031-01-01T00:00:00Z"]), ["scheduledAt"]);
  assert.deepEqual(fields(["X-Posthorn-Scheduled-At: 2029-01-01T00:00:00Z"]), ["scheduledAt"]);
});
