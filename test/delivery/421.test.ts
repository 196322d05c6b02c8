/** A receiver that closes a session with 421, at each point of the conversation. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { accepted, getEmail, untilEvent, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

const shutDown = { reply: "421 4.3.2 Service shutting down", after: "close" } as const;

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
beforeEach(() => {
  testbed.sink.script = () => undefined;
});
after(async () => await testbed.stop());

test("421 on a reused connection: the message is sent immediately on a new one, and no delay is reported", async () => {
  await accepted(testbed, { to: ["first@there.test"] });
  testbed.sink.script = ({ verb, transaction }) => (verb === "mail" && transaction > 1 ? shutDown : undefined);
  const before = testbed.sink.connections.opened;
  const id = await accepted(testbed, { to: ["second@there.test"] });
  const events = await untilEvent(testbed, id, "email.delivered");
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload.attempts, payload.possibleDuplicate]),
    [["email.delivered", 1, false]],
  );
  assert.equal(testbed.sink.connections.opened, before + 1);
  assert.equal(testbed.sink.received("second@there.test").length, 1);
});

test("421 to one of two recipients: only this one is deferred, and both get one copy", async () => {
  testbed.sink.script = ({ verb, recipient, seen }) =>
    verb === "rcpt" && recipient === "b@other.test" && seen === 1 ? shutDown : undefined;
  const id = await accepted(testbed, { to: ["a@other.test", "b@other.test"] });
  const email = await untilFinished(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  const events = await untilEvent(testbed, id, "email.delivered");
  assert.deepEqual(
    events.map(({ type, payload }) => `${type} ${payload.recipients} ${payload.possibleDuplicate ?? ""}`).sort(),
    ["email.delayed b@other.test false", "email.delivered a@other.test false", "email.delivered b@other.test false"],
  );
  for (const { payload } of events.filter(({ type }) => type === "email.delayed"))
    assert.match(payload.smtpReply as string, /^421 4\.3\.2/);
  for (const address of ["a@other.test", "b@other.test"])
    assert.equal(testbed.sink.received(address).length, 1, address);
});

test("421 to the final dot is a definite refusal: deferred, then delivered, and not in doubt", async () => {
  testbed.sink.script = ({ verb, seen }) => (verb === "dot" && seen === 1 ? shutDown : undefined);
  const id = await accepted(testbed, { to: ["dot@there.test"] });
  const events = await untilEvent(testbed, id, "email.delivered");
  assert.deepEqual(
    events.map(({ type, payload }) => [type, payload.possibleDuplicate]),
    [
      ["email.delayed", false],
      ["email.delivered", false],
    ],
  );
  assert.equal((await getEmail(testbed, id)).recipients[0]!.attempts, 2);
});

test("421 as greeting: deferred with the server's reply", async () => {
  testbed.sink.script = ({ verb }) => (verb === "connect" ? shutDown : undefined);
  // Connections of the previous tests stay open until the server closes them.
  testbed.sink.hangUp();
  const id = await accepted(testbed, { to: ["closed@there.test"] });
  const [delayed] = await untilEvent(testbed, id, "email.delayed");
  assert.match(delayed!.payload.smtpReply as string, /^421 4\.3\.2/);
  testbed.sink.script = () => undefined;
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
});
