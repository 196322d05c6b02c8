import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, makeDue, untilEvent, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

const inMs = (ms: number) => new Date(Date.now() + ms);
const dateHeader = (data: Buffer) => new Date(/^Date: (.*)\r$/m.exec(data.toString("latin1"))![1]!);

test("a scheduled email is sent at its time, and one for next week stays queued", async () => {
  // Far enough ahead for a slow machine to accept the email before.
  const scheduledAt = inMs(6000);
  const { body } = await testbed.send({ to: ["soon@there.test"], scheduledAt: scheduledAt.toISOString() });
  assert.equal(body.status, "EMAIL_STATUS_QUEUED");
  assert.match(body.statusMessage as string, /scheduled for/);
  const nextWeek = inMs(7 * 86_400_000);
  const far = await accepted(testbed, { to: ["far@there.test"], scheduledAt: nextWeek.toISOString() });

  const waiting = await getEmail(testbed, far);
  assert.equal(waiting.status, "EMAIL_STATUS_QUEUED");
  assert.equal(waiting.scheduledAt, nextWeek.toISOString());
  assert.equal(waiting.recipients[0]!.nextAttemptAt, nextWeek.toISOString());

  await untilEvent(testbed, body.id as string, "email.delivered");
  const [event] = await testbed.events();
  assert.ok(new Date(event!.event.createdAt as string) >= scheduledAt, "delivered before its time");
  // RFC 5322 §3.6.1: Date is when the message is meant to be sent, to the second.
  const [delivery] = testbed.sink.received("soon@there.test");
  assert.equal(dateHeader(delivery!.data).getTime(), Math.floor(scheduledAt.getTime() / 1000) * 1000);

  assert.equal((await getEmail(testbed, far)).status, "EMAIL_STATUS_QUEUED");
  assert.equal(testbed.sink.commands.filter(({ line }) => line.includes("far@there.test")).length, 0);
});

test("an email scheduled 29 days ahead is sent when it becomes due", async () => {
  const id = await accepted(testbed, { to: ["later@there.test"], scheduledAt: inMs(29 * 86_400_000).toISOString() });
  await makeDue(testbed);
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  assert.equal(testbed.sink.received("later@there.test").length, 1);
});

test("a time slightly in the past means now", async () => {
  const { body } = await testbed.send({ to: ["past@there.test"], scheduledAt: inMs(-60_000).toISOString() });
  assert.equal(body.status, "EMAIL_STATUS_SENT");
});
