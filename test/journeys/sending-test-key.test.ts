import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { getEmail, type Told, untilFinished, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
let key: string;
before(async () => {
  world = await startWorld();
  key = (await world.call("KeyService/CreateKey", { name: "test", permission: "KEY_PERMISSION_FULL", test: true })).body
    .secret as string;
});
after(async () => await world.stop());

async function sent(to: string, more = {}): Promise<Record<string, unknown>> {
  const request = {
    from: "news@sender.test",
    to: [to],
    subject: "Trial",
    body: "Trial",
    metadata: { run: "1" },
    ...more,
  };
  const { status, body } = await world.call("EmailService/SendEmail", request, { key });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const types = (told: readonly Told[]) => told.map(({ type }) => type);

test("a test key looks like one", () => assert.match(key, /^ph_test_/));

test("any mailbox name is delivered, to the local mailbox and nowhere else", async () => {
  const { id, status } = await sent("anybody@there.test");
  assert.equal(status, "EMAIL_STATUS_SENT");
  const email = await getEmail(world, id as string);
  assert.equal(email.test, true);
  const folder = join(world.program.dataDir, "mailbox", "new");
  const [name] = readdirSync(folder).filter((file) => file.startsWith(id as string));
  const message = readFileSync(join(folder, name!), "latin1");
  assert.match(message, /^Return-Path: <.+>\r\nDelivered-To: anybody@there\.test\r\nDKIM-Signature: /);
});

test("bounced@ is an unknown mailbox, and is not put on the suppression list", async () => {
  for (const _ of [1, 2]) {
    const { id, status } = await sent("bounced@there.test");
    assert.equal(status, "EMAIL_STATUS_FAILED");
    const [bounced] = await untilTold(world, id as string, "email.bounced");
    assert.equal(bounced!.payload.bounceType, "BOUNCE_TYPE_PERMANENT");
    assert.equal(bounced!.payload.category, "unknown_mailbox");
    assert.equal(bounced!.payload.enhancedCode, "5.1.1");
  }
  const rows = await world.database.sql`select * from suppressions`;
  assert.equal(rows.length, 0);
});

test("suppressed@ is not tried", async () => {
  const { id, status } = await sent("suppressed+7@there.test");
  assert.equal(status, "EMAIL_STATUS_FAILED");
  const told = await untilTold(world, id as string, "email.suppressed");
  assert.deepEqual(told[0]!.payload.reason, "SUPPRESSION_REASON_MANUAL");
});

test("full@ and delayed@ are deferred, then end; complained@ and replied@ act a moment after their delivery", async () => {
  const [full, delayed, complained, replied] = await Promise.all([
    sent("full@there.test"),
    sent("delayed@there.test"),
    sent("complained@there.test"),
    sent("replied@there.test"),
  ]);
  assert.equal(full.status, "EMAIL_STATUS_QUEUED");
  assert.equal(delayed.status, "EMAIL_STATUS_QUEUED");
  assert.equal(complained.status, "EMAIL_STATUS_SENT");

  const fullTold = await untilTold(world, full.id as string, "email.bounced");
  assert.deepEqual(types(fullTold), ["email.delayed", "email.bounced"]);
  assert.match(fullTold[0]!.payload.smtpReply as string, /^452 4\.2\.2/);
  assert.equal(fullTold[1]!.payload.enhancedCode, "5.2.2");
  assert.equal(fullTold[1]!.payload.bounceType, "BOUNCE_TYPE_TRANSIENT");

  const delayedTold = await untilTold(world, delayed.id as string, "email.delivered");
  assert.deepEqual(types(delayedTold), ["email.delayed", "email.delayed", "email.delivered"]);
  assert.equal(delayedTold[2]!.payload.attempts, 3);
  assert.equal((await untilFinished(world, delayed.id as string)).status, "EMAIL_STATUS_SENT");

  const complaint = await untilTold(world, complained.id as string, "email.complained");
  assert.deepEqual(types(complaint), ["email.delivered", "email.complained"]);
  assert.deepEqual(complaint[1]!.payload.recipients, ["complained@there.test"]);

  const reply = await untilTold(world, replied.id as string, "email.replied");
  assert.deepEqual(types(reply), ["email.delivered", "email.replied"]);
  const { from, to, subject, body, inReplyTo, parentEmailId } = reply[1]!.payload;
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
  const all = await world.events();
  assert.deepEqual(all.find(({ event }) => event.type === "email.replied")!.event.metadata, { run: "1" });
});

test("nothing of all this has reached a mail server", () => {
  assert.equal(world.sink.connections.opened, 0);
});
