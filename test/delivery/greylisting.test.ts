import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilEvent, untilFinished } from "../harness/sending.ts";
import { greylist } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ sink: { script: greylist(2) }, env: { POSTHORN_RETRY_SCHEDULE_MS: "300,400" } });
});
after(async () => await testbed.stop());

test("a greylisted recipient is deferred, retried by the schedule, and delivered", async () => {
  const id = await accepted(testbed, { to: ["grey@there.test"] });
  const events = await untilEvent(testbed, id, "email.delivered");
  assert.deepEqual(
    events.map(({ type }) => type),
    ["email.delayed", "email.delayed", "email.delivered"],
  );
  const [first, second, last] = events as [(typeof events)[0], (typeof events)[0], (typeof events)[0]];
  assert.equal(first.payload.category, "greylisted");
  assert.equal(first.payload.enhancedCode, "4.7.1");
  assert.match(first.payload.smtpReply as string, /^451 4\.7\.1 Greylisted/);
  assert.equal(first.payload.remoteMx, "mx.there.test");
  assert.deepEqual(
    [first, second, last].map(({ payload }) => payload.attempts),
    [1, 2, 3],
  );
  assert.equal(last.payload.possibleDuplicate, false);
  assert.equal(testbed.sink.received("grey@there.test").length, 1);

  const log = (await testbed.events()).map(({ event }) => event);
  const at = (i: number) => new Date(log[i]!.createdAt as string).getTime();
  // Each retry happens no earlier than its event announced. The announced time is within 20 % of the schedule.
  for (const [i, waitMs] of [300, 400].entries()) {
    const announced = new Date((log[i]!.delayed as { nextAttemptAt: string }).nextAttemptAt).getTime();
    assert.ok(at(i + 1) >= announced, `attempt ${i + 2} came before ${new Date(announced).toISOString()}`);
    assert.ok(announced - at(i) <= waitMs * 1.2 + 1, `attempt ${i + 2} was delayed by ${announced - at(i)} ms`);
  }
  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.recipients[0]!.attempts, 3);
});

test("each recipient of an email is deferred and retried on its own", async () => {
  const to = ["x@other.test", "y@other.test", "z@other.test"];
  const id = await accepted(testbed, { to });
  await untilEvent(testbed, id, "email.delivered");
  await testbed.sink.until((sink) => to.every((address) => sink.received(address).length === 1));
  const { recipients } = await untilFinished(testbed, id);
  assert.deepEqual(
    recipients.map(({ attempts }) => attempts),
    [3, 3, 3],
  );
});

test("every attempt sends the same bytes", async () => {
  testbed.sink.script = ({ verb, seen }) => (verb === "dot" && seen === 1 ? "451 4.3.0 Try again" : undefined);
  await untilEvent(testbed, await accepted(testbed, { to: ["same@there.test"], html: "<p>Hi</p>" }), "email.delivered");
  const copies = testbed.sink.deliveries.filter(({ recipients }) => recipients.includes("same@there.test"));
  assert.equal(copies.length, 2);
  assert.deepEqual(copies[0]!.raw, copies[1]!.raw);
});
