import assert from "node:assert/strict";
import { test } from "node:test";
import { digestMessage } from "./digest.ts";

const digest = (lines: string[], sender = "ann@there.test") =>
  digestMessage(Buffer.from(lines.join("\r\n")), { sender });

test("an answer is told with its chain and its new words", async () => {
  const answer = await digest([
    "From: Ann <ann@there.test>",
    "Message-ID: <3@there.test>",
    "In-Reply-To: <2@here.test>",
    "References: <1@here.test> <2@here.test>",
    "X-Microsoft-Original-Message-ID: <0@here.test>",
    "",
    "Thank you.",
    "",
    "On Monday the shop wrote:",
    "> Your order is on its way.",
    "",
  ]);
  assert.deepEqual([answer.from, answer.fromAddress], ["Ann <ann@there.test>", "ann@there.test"]);
  assert.equal(answer.newText, "Thank you.");
  assert.match(answer.body, /Your order is on its way\.$/);
  assert.equal(answer.inReplyTo, "<2@here.test>");
  assert.deepEqual(answer.references, ["<1@here.test>", "<2@here.test>"]);
  assert.deepEqual(answer.answers, ["<2@here.test>", "<0@here.test>", "<1@here.test>"]);
  assert.deepEqual([answer.automatic, answer.report], [false, undefined]);
});

test("HTML alone becomes text; without From the envelope's sender stands in", async () => {
  const plain = await digest(["Content-Type: text/html", "", "<p>Hello</p><p>there</p>"]);
  assert.match(plain.body, /^Hello\s+there$/);
  assert.equal(plain.from, "ann@there.test");
});

test("a delivery report is read as one, and is no person's", async () => {
  const report = await digest(
    [
      "From: MAILER-DAEMON@there.test",
      "Content-Type: multipart/report; report-type=delivery-status; boundary=x",
      "",
      "--x",
      "",
      "It failed.",
      "--x",
      "Content-Type: message/delivery-status",
      "",
      "Reporting-MTA: dns; there.test",
      "",
      "Final-Recipient: rfc822; bob@there.test",
      "Action: failed",
      "Status: 5.1.1",
      "--x--",
    ],
    "",
  );
  assert.ok(report.automatic);
  assert.match(JSON.stringify(report.report), /bob@there\.test.*5\.1\.1/);
});
