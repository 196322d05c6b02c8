import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type Digest, digestMessage } from "../../mail/message/digest.ts";
import { readMessageId } from "../../mail/message-id.ts";
import { judgeReturned, type Returned } from "./returned.ts";

type Expected = {
  /** The envelope sender. */
  sender: string;
  is: "bounce" | "complaint" | "automatic" | "reply" | "mail";
  /** What the report means at the return path of each of these recipients. */
  bounced?: { address: string; category?: string; type?: string; code?: string; suppress?: boolean }[];
  remoteMta?: string;
  complaint?: Record<string, unknown>;
  from?: string;
  newText?: string;
  html?: boolean;
  attachments?: [filename: string, contentType: string, sizeBytes: number, contentId: string][];
};

const folder = new URL("../../../test/corpus/inbound/", import.meta.url);
const names = readdirSync(folder)
  .filter((file) => file.endsWith(".eml"))
  .map((file) => file.slice(0, -4))
  .sort();

for (const name of names) {
  test(`the message ${name} of the corpus is read as expected`, async () => {
    const expected: Expected = JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8"));
    const digest = await digestMessage(crlf(readFileSync(new URL(`${name}.eml`, folder), "latin1")), expected);
    assert.equal(kindOf(digest), expected.is);
    if (expected.bounced) checkBounce(digest, expected);
    if (expected.complaint) checkComplaint(digest, expected.complaint);
    if (expected.from) assert.equal(digest.from, expected.from);
    if (expected.newText !== undefined) assert.equal(digest.newText, expected.newText);
    if (expected.html) assert.notEqual(digest.html, "");
    if (expected.attachments) {
      const found = digest.attachments.map((a) => [a.filename, a.contentType, a.sizeBytes, a.contentId]);
      assert.deepEqual(found, expected.attachments);
    }
  });
}

test("the corpus has at least 40 messages", () => {
  assert.ok(names.length >= 40, `${names.length} messages`);
});

function kindOf({ report, automatic, repliesTo }: Digest): Expected["is"] {
  if (report) return report.kind;
  if (automatic) return "automatic";
  return repliesTo.some((id) => readMessageId(id)) ? "reply" : "mail";
}

function checkBounce({ report }: Digest, expected: Expected): void {
  assert.ok(report?.kind === "bounce");
  const isFailure = report.recipients.some(({ action }) => action === "failed");
  assert.equal(isFailure, expected.bounced!.length > 0, JSON.stringify(report));
  // The report as it would arrive at the return path of each recipient.
  for (const wanted of expected.bounced!) {
    const { outcome, remoteMta }: Returned = judgeReturned(wanted.address, report.recipients)!;
    const found = {
      address: wanted.address,
      category: outcome.category,
      type: outcome.bounceType,
      code: outcome.enhancedCode,
      suppress: outcome.suppress,
    };
    assert.equal(outcome.kind, "bounced");
    assert.deepEqual({ ...found, ...wanted }, found, JSON.stringify(report));
    if (expected.remoteMta) assert.equal(remoteMta, expected.remoteMta);
  }
}

function checkComplaint({ report }: Digest, expected: Record<string, unknown>): void {
  assert.ok(report?.kind === "complaint");
  assert.deepEqual({ ...report, ...expected }, { ...report });
}

function crlf(latin1: string): Buffer {
  return Buffer.from(latin1.replace(/\r?\n/g, "\r\n"), "latin1");
}
