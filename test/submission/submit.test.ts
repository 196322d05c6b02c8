/** Programs send over SMTP: the message is kept, signed and delivered, and its events and replies are those of the API. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import nodemailer from "nodemailer";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed?.stop());

test("nodemailer sends an attachment to two recipients and a blind copy", async () => {
  const { program, sink } = testbed;
  const transport = nodemailer.createTransport({
    host: "127.0.0.1",
    port: program.ports.submission!,
    auth: { user: "posthorn", pass: program.key },
    tls: { rejectUnauthorized: false },
  });
  const info = await transport.sendMail({
    from: "Jürgen <news@sender.test>",
    to: "ann@there.test, Zoë <zoe@there.test>",
    bcc: "eve@there.test",
    subject: "Grüße",
    text: "Schöne Grüße",
    headers: { "X-Posthorn-Metadata-order": "42" },
    attachments: [{ filename: "übung.txt", content: Buffer.from("Übung") }],
  });
  const id = /queued as (em_[0-9a-f-]+)/.exec(info.response)?.[1];
  assert.ok(id, info.response);
  const events = await testbed.untilEvents(
    "three deliveries",
    (all) => all.filter(({ event }) => event.type === "email.delivered").length >= 3,
  );
  assert.ok(
    events.every(
      ({ event }) => event.emailId === id && event.messageId === info.messageId && event.metadata.order === "42",
    ),
  );
  const [copy] = sink.received("eve@there.test");
  console.log(copy?.data?.toString());
});
