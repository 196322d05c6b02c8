import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed.stop());

test("an email is accepted, delivered to the recipient's server, and reported as delivered", async () => {
  const { status, body } = await testbed.send({ to: ["Ann <ann@there.test>"], metadata: { order: "7" } });
  assert.equal(status, 200);
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  const [delivery] = testbed.sink.received("ann@there.test");
  assert.ok(delivery);
  assert.match(delivery.from, /^rp-[a-z2-7]{55}@bounce\.mail\.posthorn\.test$/);
  assert.match(delivery.data.toString(), new RegExp(`^Message-ID: ${body.messageId}\\r$`, "m"));
  const events = await testbed.events();
  assert.equal(events.length, 1);
  const { event } = events[0]!;
  assert.deepEqual(
    { type: event.type, emailId: event.emailId, messageId: event.messageId, metadata: event.metadata },
    { type: "email.delivered", emailId: body.id, messageId: body.messageId, metadata: { order: "7" } },
  );
  const delivered = event.delivered as Record<string, unknown>;
  assert.deepEqual(delivered.recipients, ["ann@there.test"]);
  assert.equal(delivered.remoteMx, "mx.there.test");
  assert.equal(delivered.attempts, 1);
  assert.equal(delivered.possibleDuplicate, false);
});
