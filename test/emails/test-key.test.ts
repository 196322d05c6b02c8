import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import PostalMime from "postal-mime";
import { type EmailEvent, getEmail, untilEvent, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let key: string;
before(async () => {
  testbed = await startTestbed();
  key = (await testbed.call("KeyService/CreateKey", { name: "test", permission: "KEY_PERMISSION_FULL", test: true }))
    .body.secret as string;
});
after(async () => await testbed.stop());

async function sent(to: string, more = {}): Promise<Record<string, unknown>> {
  const request = {
    from: "news@sender.test",
    to: [to],
    subject: "Trial",
    body: "Trial",
    metadata: { run: "1" },
    ...more,
  };
  const { status, body } = await testbed.call("EmailService/SendEmail", request, { key });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const types = (events: readonly EmailEvent[]) => events.map(({ type }) => type);

test("a test key starts with ph_test_", () => assert.match(key, /^ph_test_/));

test("any other mailbox name is delivered, only to the local mailbox", async () => {
  const { id, status } = await sent("anybody@there.test");
  assert.equal(status, "EMAIL_STATUS_SENT");
  const email = await getEmail(testbed, id as string);
  assert.equal(email.test, true);
  const folder = join(testbed.program.dataDir, "mailbox", "new");
  const [name] = readdirSync(folder).filter((file) => file.startsWith(id as string));
  const message = readFileSync(join(folder, name!), "latin1");
  assert.match(
    message,
    /^Return-Path: <.+>\r\nDelivered-To: anybody@there\.test\r\nX-Posthorn-Copy: cp-.+\r\nDKIM-Signature: /,
  );
});

test("bounced@ simulates an unknown mailbox, and is not added to the suppression list", async () => {
  for (const _ of [1, 2]) {
    const { id, status } = await sent("bounced@there.test");
    assert.equal(status, "EMAIL_STATUS_FAILED");
    const [bounced] = await untilEvent(testbed, id as string, "email.bounced");
    assert.equal(bounced!.payload.bounceType, "BOUNCE_TYPE_PERMANENT");
    assert.equal(bounced!.payload.category, "unknown_mailbox");
    assert.equal(bounced!.payload.enhancedCode, "5.1.1");
  }
  const rows = await testbed.database.sql`select * from suppressions`;
  assert.equal(rows.length, 0);
});

test("suppressed@ is not attempted", async () => {
  const { id, status } = await sent("suppressed+7@there.test");
  assert.equal(status, "EMAIL_STATUS_FAILED");
  const suppressed = await untilEvent(testbed, id as string, "email.suppressed");
  assert.deepEqual(suppressed[0]!.payload.reason, "SUPPRESSION_REASON_MANUAL");
});

test("full@ and delayed@ are deferred first; complained@ and replied@ produce their event after delivery", async () => {
  const [full, delayed, complained, replied] = await Promise.all([
    sent("full@there.test"),
    sent("delayed@there.test"),
    sent("complained@there.test"),
    sent("replied@there.test"),
  ]);
  assert.equal(full.status, "EMAIL_STATUS_QUEUED");
  assert.equal(delayed.status, "EMAIL_STATUS_QUEUED");
  assert.equal(complained.status, "EMAIL_STATUS_SENT");

  const fullEvents = await untilEvent(testbed, full.id as string, "email.bounced");
  assert.deepEqual(types(fullEvents), ["email.delayed", "email.bounced"]);
  assert.match(fullEvents[0]!.payload.smtpReply as string, /^452 4\.2\.2/);
  assert.equal(fullEvents[1]!.payload.enhancedCode, "5.2.2");
  assert.equal(fullEvents[1]!.payload.bounceType, "BOUNCE_TYPE_TRANSIENT");

  const delayedEvents = await untilEvent(testbed, delayed.id as string, "email.delivered");
  assert.deepEqual(types(delayedEvents), ["email.delayed", "email.delayed", "email.delivered"]);
  assert.equal(delayedEvents[2]!.payload.attempts, 3);
  assert.equal((await untilFinished(testbed, delayed.id as string)).status, "EMAIL_STATUS_SENT");

  const complainedEvents = await untilEvent(testbed, complained.id as string, "email.complained");
  assert.deepEqual(types(complainedEvents), ["email.delivered", "email.complained"]);
  assert.deepEqual(complainedEvents[1]!.payload.recipients, ["complained@there.test"]);

  const repliedEvents = await untilEvent(testbed, replied.id as string, "email.replied");
  assert.deepEqual(types(repliedEvents), ["email.delivered", "email.replied"]);
  const { from, to, subject, body, inReplyTo, parentEmailId } = repliedEvents[1]!.payload;
  assert.deepEqual(
    { from, to, subject, inReplyTo, parentEmailId },
    {
      from: "replied@there.test",
      to: ["news@sender.test"],
      subject: "Re: Trial",
      inReplyTo: replied.messageId,
      parentEmailId: replied.id,
    },
  );
  assert.ok((body as string).length > 0);
  const { inboundId } = repliedEvents[1]!.payload;
  const listed = await testbed.call("InboundService/ListInbound", { parentEmailId: replied.id });
  assert.deepEqual(
    (listed.body.data as { id: string }[]).map(({ id }) => id),
    [inboundId],
  );
  const read = await testbed.call("InboundService/GetInbound", { id: inboundId });
  assert.equal(read.body.newText, body);
  const { raw } = (await testbed.call("InboundService/GetInboundContent", { id: inboundId })).body;
  const parsed = await PostalMime.parse(Buffer.from(raw as string, "base64"));
  assert.deepEqual([parsed.subject, parsed.inReplyTo], ["Re: Trial", replied.messageId]);
  await sent("anybody@there.test", { replyToEmailId: inboundId });
  const all = await testbed.events();
  assert.deepEqual(all.find(({ event }) => event.type === "email.replied")!.event.metadata, { run: "1" });
});

test("no connection to a mail server was opened", () => {
  assert.equal(testbed.sink.connections.opened, 0);
});
