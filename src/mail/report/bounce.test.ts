import assert from "node:assert/strict";
import { test } from "node:test";
import { readMessage } from "../message/read.ts";
import { readBounce } from "./bounce.ts";

const report = (status: string[], returned: string[] = ["Message-ID: <1@here.test>"]) =>
  readMessage(
    Buffer.from(
      [
        ...[
          "From: MAILER-DAEMON@there.test",
          "Content-Type: multipart/report; report-type=delivery-status; boundary=b",
          "",
        ],
        ...["--b", "Content-Type: message/delivery-status", "", ...status, ""],
        ...["--b", "Content-Type: text/rfc822-headers", "", ...returned, "", "--b--", ""],
      ].join("\r\n"),
    ),
  );

test("a bounce report lists each recipient with its action, status, diagnostic and refusing server", async () => {
  const message = await report([
    ...["Reporting-MTA: dns; mx.there.test", ""],
    ...[
      "Original-Recipient: rfc822;anna@here.test",
      "Final-Recipient: rfc822; anna@there.test",
      "Action: failed",
      "Status: 5.1.1",
    ],
    ...["Remote-MTA: dns; in.there.test", "Diagnostic-Code: smtp; 550 5.1.1", "  no such user", ""],
    ...["Final-Recipient: rfc822; bob@there.test", "Action: delayed (still trying)", "Status: 4.4.1 (timeout)"],
  ]);
  assert.deepEqual(readBounce(message, ""), {
    kind: "bounce",
    recipients: [
      {
        addresses: ["anna@here.test", "anna@there.test"],
        action: "failed",
        status: "5.1.1",
        diagnostic: "550 5.1.1 no such user",
        remoteMta: "in.there.test",
      },
      { addresses: ["bob@there.test"], action: "delayed", status: "4.4.1", diagnostic: "", remoteMta: "mx.there.test" },
    ],
    originalMessageId: "<1@here.test>",
  });
});

test("without an action field, the status decides", async () => {
  const of = async (status: string) =>
    readBounce(await report(["Final-Recipient: rfc822; a@there.test", `Status: ${status}`]), "")?.recipients[0]?.action;
  assert.deepEqual(
    [await of("5.2.2"), await of("4.2.2"), await of("2.0.0"), await of("9")],
    ["failed", "delayed", "delivered", "delivered"],
  );
});

test("ordinary mail is not a bounce, and the number of recipients is limited", async () => {
  const ordinary = await readMessage(Buffer.from("From: anna@there.test\r\nSubject: Hello\r\n\r\nHow are you?\r\n"));
  assert.equal(readBounce(ordinary, "anna@there.test"), undefined);
  const many = Array.from({ length: 900 }, (_, i) => [
    `Final-Recipient: rfc822; u${i}@there.test`,
    "Action: failed",
    "",
  ]);
  assert.equal(readBounce(await report(many.flat()), "")?.recipients.length, 200);
});
