import assert from "node:assert/strict";
import { test } from "node:test";
import { digestMessage } from "./digest.ts";

const digest = (lines: string[], sender = "ann@there.test") =>
  digestMessage(Buffer.from(lines.join("\r\n")), { sender });

test("the digest of a reply contains its references and its new text", async () => {
  const reply = await digest([
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
  assert.deepEqual([reply.from, reply.fromAddress], ["Ann <ann@there.test>", "ann@there.test"]);
  assert.equal(reply.newText, "Thank you.");
  assert.match(reply.body, /Your order is on its way\.$/);
  assert.equal(reply.inReplyTo, "<2@here.test>");
  assert.deepEqual(reply.references, ["<1@here.test>", "<2@here.test>"]);
  assert.deepEqual(reply.repliesTo, ["<2@here.test>", "<0@here.test>", "<1@here.test>"]);
  assert.deepEqual([reply.automatic, reply.report], [false, undefined]);
});

test("the text of a message with only HTML comes from the HTML; without From, the envelope sender is used", async () => {
  const plain = await digest(["Content-Type: text/html", "", "<p>Hello</p><p>there</p>"]);
  assert.match(plain.body, /^Hello\s+there$/);
  assert.equal(plain.from, "ann@there.test");
});

test("answers go to Reply-To, if it is another address that mail can be sent to", async () => {
  const replyTo = async (field: string) =>
    (await digest(["From: ann@there.test", `Reply-To: ${field}`, "", ""])).replyTo;
  assert.equal(await replyTo("Help Desk <desk@there.test>, b@there.test"), "Help Desk <desk@there.test>");
  for (const field of ["ann@there.test", "not an address", "", `${"a".repeat(2000)}@there.test`])
    assert.equal(await replyTo(field), "", field);
});

test("a delivery report is parsed as a report and counts as automatic mail", async () => {
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
