/** Programs send over SMTP: the message is kept, signed and delivered, and its events, replies and content are those of the API. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import PostalMime from "postal-mime";
import {
  deliverInbound,
  eventsOfType,
  feedbackAddress,
  type InboundTestbed,
  startInboundTestbed,
} from "../harness/inbound.ts";
import { openTransport, submit, submitRaw } from "../harness/submission.ts";
import { senderPublicKey } from "../harness/testbed.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed?.stop());

/** Waits until this many recipients of the email have it. */
async function untilDelivered(id: string, recipients = 1) {
  const events = await testbed.untilEvents(`deliveries of ${id}`, (all) => {
    return all.filter(({ event }) => event.type === "email.delivered" && event.emailId === id).length >= recipients;
  });
  return events.filter(({ event }) => event.emailId === id).map(({ event }) => event);
}

async function received(address: string): Promise<Buffer> {
  const [delivery] = testbed.sink.received(address);
  assert.ok(delivery, `${address} received nothing`);
  return delivery.data;
}

async function verdictOf(raw: Buffer): Promise<string> {
  const { results } = await dkimVerify(raw, { resolver: async () => [[`v=DKIM1; k=rsa; p=${senderPublicKey}`]] });
  return results[0]!.status.result;
}

for (const isTls of [false, true])
  test(`attachments, UTF-8 and a blind copy over ${isTls ? "TLS" : "STARTTLS"}`, async () => {
    const at = `${isTls ? "tls" : "starttls"}@there.test`;
    const { id, messageId } = await submit(
      testbed,
      {
        from: "Jürgen <news@sender.test>",
        to: `ann.${at}, Zoë <zoe.${at}>`,
        bcc: `eve.${at}`,
        subject: "Grüße",
        text: "Schöne Grüße",
        html: "<p>Schöne Grüße</p>",
        headers: { "X-Posthorn-Metadata-order": "42" },
        attachments: [{ filename: "übung.txt", content: Buffer.from("Übung") }],
      },
      { isTls },
    );
    const events = await untilDelivered(id, 3);
    for (const event of events) assert.deepEqual([event.messageId, event.metadata], [messageId, { order: "42" }]);
    const raw = await received(`eve.${at}`);
    assert.equal(await verdictOf(raw), "pass");
    const parsed = await PostalMime.parse(raw);
    assert.deepEqual([parsed.subject, parsed.messageId, parsed.from?.name], ["Grüße", messageId, "Jürgen"]);
    assert.deepEqual(
      parsed.to?.map(({ address }) => address),
      [`ann.${at}`, `zoe.${at}`],
    );
    assert.doesNotMatch(raw.toString("latin1"), new RegExp(`eve.${at}|metadata`, "i"));
    assert.equal(parsed.attachments[0]!.filename, "übung.txt");
    assert.equal(Buffer.from(parsed.attachments[0]!.content as ArrayBuffer).toString(), "Übung");

    const { email } = (await testbed.call("EmailService/GetEmail", { id })).body as { email: Record<string, unknown> };
    assert.deepEqual([email.subject, email.messageId, email.bcc], ["Grüße", messageId, [`eve.${at}`]]);
    assert.deepEqual(
      (email.attachments as { filename: string }[]).map(({ filename }) => filename),
      ["übung.txt"],
    );
    const content = (await testbed.call("EmailService/GetEmailContent", { id })).body;
    assert.match(String(content.body), /Schöne Grüße/);
    assert.match(String(content.html), /<p>Schöne Grüße<\/p>/);
  });

test("an 8-bit message arrives in 7 bits, and an address in another script in its own form", async () => {
  const raw = Buffer.from(
    "From: news@sender.test\r\nTo: bob@there.test\r\nSubject: Grüße\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nSchöne Grüße und noch etwas Text\r\n",
  );
  const { id } = await submitRaw(testbed, { to: ["bob@there.test"], raw });
  await untilDelivered(id);
  const arrived = await received("bob@there.test");
  assert.match(arrived.toString("latin1"), /^[\x00-\x7f]*$/);
  assert.equal(await verdictOf(arrived), "pass");
  const { text, subject, date } = await PostalMime.parse(arrived);
  assert.deepEqual([text!.trim(), subject], ["Schöne Grüße und noch etwas Text", "Grüße"]);
  assert.ok(date, "a missing Date is added");
});

test("a large message in 8 bits is prepared in a thread and arrives whole", async () => {
  const line = `${"ä".repeat(40)}\r\n`;
  const head = "From: news@sender.test\r\nTo: large@there.test\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n";
  const raw = Buffer.from(head + line.repeat(30_000));
  const { id } = await submitRaw(testbed, { to: ["large@there.test"], raw });
  await untilDelivered(id);
  const { text } = await PostalMime.parse(await received("large@there.test"));
  assert.equal(text!.replace(/[\r\n]/g, "").length, 40 * 30_000);
});

test("a message that is too complex to be taken apart is sent, and its content is read as a whole", async () => {
  const head = "From: news@sender.test\nTo: parts@there.test\nContent-Type: multipart/mixed; boundary=b\n\n";
  const raw = `${head}${"--b\n\ntext\n".repeat(1100)}--b--\n`;
  const { id } = await submitRaw(testbed, { to: ["parts@there.test"], raw });
  await untilDelivered(id);
  const { status, body } = await testbed.call("EmailService/GetEmailContent", { id });
  assert.equal(status, 200);
  assert.equal(body.body ?? "", "");
  assert.equal(Buffer.from(String(body.raw), "base64").toString().split("--b\r\n").length, 1101);
});

test("a message that is sent again after its answer was lost is one email", async () => {
  const raw = "From: news@sender.test\nMessage-ID: <again@shop.test>\nSubject: Again\n\ntext\n";
  const first = await submitRaw(testbed, { to: ["again@there.test"], raw });
  const second = await submitRaw(testbed, { to: ["again@there.test"], raw });
  assert.equal(second.id, first.id);
  assert.match(second.response, /as before/);
  const other = await submitRaw(testbed, { to: ["other@there.test"], raw });
  assert.notEqual(other.id, first.id);
  // Nothing says that two messages without an id are the same.
  const plain = "From: news@sender.test\n\ncron\n";
  const ids = [
    await submitRaw(testbed, { to: ["cron@there.test"], raw: plain }),
    await submitRaw(testbed, { to: ["cron@there.test"], raw: plain }),
  ];
  assert.notEqual(ids[0]!.id, ids[1]!.id);
});

test("an idempotency key holds for a message that the library writes anew, and not for another one", async () => {
  const mail = (text: string) => ({
    from: "news@sender.test",
    to: "key@there.test",
    text,
    html: `<p>${text}</p>`,
    headers: { "X-Posthorn-Idempotency-Key": "order-1" },
  });
  const first = await submit(testbed, mail("one"));
  const second = await submit(testbed, mail("one"));
  assert.equal(second.id, first.id);
  assert.notEqual(second.messageId, first.messageId);
  await assert.rejects(submit(testbed, mail("two")), /554 5\.5\.0 This Idempotency-Key was used/);
});

test("a scheduled message waits, and its date is that time", async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const { id } = await submit(testbed, {
    from: "news@sender.test",
    to: "later@there.test",
    text: "later",
    headers: { "X-Posthorn-Scheduled-At": scheduledAt },
  });
  const { email } = (await testbed.call("EmailService/GetEmail", { id })).body as { email: Record<string, unknown> };
  assert.equal(new Date(String(email.scheduledAt)).toISOString(), scheduledAt);
  const { raw } = (await testbed.call("EmailService/GetEmailContent", { id })).body;
  const { date } = await PostalMime.parse(Buffer.from(String(raw), "base64"));
  assert.equal(Math.floor(Date.parse(date!) / 1000), Math.floor(Date.parse(scheduledAt) / 1000));
  await testbed.call("EmailService/CancelEmail", { id });
});

test("a reply to the sender's own Message-ID is found", async () => {
  const messageId = "<Order.1042@Shop.example>";
  const raw = `From: shop@sender.test\nTo: ann@there.test\nMessage-ID: ${messageId}\nSubject: Order\n\ntext\n`;
  const { id } = await submitRaw(testbed, { to: ["ann@there.test"], raw });
  await untilDelivered(id);
  const reply = `From: ann@there.test\nTo: shop@sender.test\nSubject: Re: Order\nMessage-ID: <r@there.test>\nIn-Reply-To: ${messageId.toLowerCase()}\n\nThanks\n`;
  await deliverInbound(testbed, { to: "shop@sender.test", raw: reply });
  const events = await testbed.untilEvents("the reply", (all) => eventsOfType(all, "email.replied").length > 0);
  const [replied] = eventsOfType(events, "email.replied");
  assert.equal(replied!.parentEmailId, id);
  assert.equal(replied!.event.emailId, id);
});

test("the Message-ID of a library, which looks like ours, finds the email, its thread and a complaint about it", async () => {
  const { id, messageId } = await submit(testbed, {
    from: "shop@sender.test",
    to: "ann@there.test",
    text: "text",
    references: "<first@shop.test>",
  });
  assert.match(messageId, /^<[0-9a-f-]{36}@sender\.test>$/);
  const found = async (search: string) =>
    ((await testbed.call("EmailService/ListEmails", { search })).body.data as { id: string }[]).map(
      (email) => email.id,
    );
  assert.deepEqual(await found(messageId), [id]);
  assert.deepEqual(await found(messageId.toUpperCase()), [id]);
  assert.deepEqual(await found("<unknown@sender.test>"), []);
  const counts = (await testbed.call("EmailService/CountEmails", { filter: { search: messageId } })).body;
  assert.match(JSON.stringify(counts), /"emails":"?1"?|"total":"?1"?/);

  const sent = await testbed.send({ to: ["bob@there.test"], inReplyTo: messageId });
  const { raw } = (await testbed.call("EmailService/GetEmailContent", { id: sent.body.id })).body;
  const headers = Buffer.from(String(raw), "base64").toString("latin1");
  assert.ok(
    headers.includes(`References: <first@shop.test>\r\n ${messageId}`) ||
      headers.includes(`<first@shop.test> ${messageId}`),
    headers,
  );

  const report = [
    ...["From: fbl@there.test", "Message-ID: <fbl@there.test>"],
    ...["Content-Type: multipart/report; report-type=feedback-report; boundary=b", "", "--b"],
    ...[
      "Content-Type: message/feedback-report",
      "",
      "Feedback-Type: abuse",
      "Version: 1",
      "User-Agent: x/1",
      "",
      "--b",
    ],
    ...["Content-Type: message/rfc822", "", `Message-ID: ${messageId}`, "", "--b--", ""],
  ].join("\n");
  await deliverInbound(testbed, { to: feedbackAddress, raw: report });
  const listed = (await testbed.call("InboundService/ListUnattributedReports", {})).body.data as { emailId: string }[];
  assert.deepEqual(
    listed.map(({ emailId }) => emailId),
    [id],
  );
});

test("a key that is revoked during a session sends nothing more, and a key with limits only what it may", async () => {
  const { body } = await testbed.call("KeyService/CreateKey", {
    name: "smtp",
    permission: "KEY_PERMISSION_SEND",
    allowedRecipients: ["there.test"],
  });
  const transport = openTransport(testbed, { key: body.secret as string });
  const mail = { from: "news@sender.test", to: "ann@there.test", text: "text" };
  try {
    await transport.sendMail(mail);
    await assert.rejects(
      transport.sendMail({ ...mail, to: "ann@elsewhere.test" }),
      /550 5\.7\.1 This key may not send to/,
    );
    await testbed.call("KeyService/RevokeKey", { id: (body.key as { id: string }).id });
    await assert.rejects(transport.sendMail(mail), /550 5\.7\.8 A valid API key is required/);
  } finally {
    transport.close();
  }
});

test("a message that was tried with a test key is sent with another key", async () => {
  const { body } = await testbed.call("KeyService/CreateKey", {
    name: "smtp test",
    permission: "KEY_PERMISSION_SEND",
    test: true,
  });
  const raw = "From: news@sender.test\nTo: tried@there.test\nMessage-ID: <tried@app.test>\nSubject: x\n\ntext\n";
  const message = { to: ["tried@there.test"], raw };
  const tried = await submitRaw(testbed, { ...message, key: body.secret as string });
  const sent = await submitRaw(testbed, message);
  assert.notEqual(sent.id, tried.id, sent.response);
  await untilDelivered(sent.id);
  await received("tried@there.test");
  assert.equal((await submitRaw(testbed, message)).id, sent.id);
});
