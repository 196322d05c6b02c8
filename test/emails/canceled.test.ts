import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, eventsOf, getEmail, untilEvent } from "../harness/sending.ts";
import { byRecipient } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" },
    sink: { script: byRecipient({ grey: "451 4.7.1 Greylisted, please try again later" }) },
  });
});
after(async () => await testbed.stop());

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

test("a canceled email is failed, produces one event, and is never delivered", async () => {
  const id = await accepted(testbed, { to: ["a@there.test"], cc: ["b@other.test"], scheduledAt: tomorrow() });
  const { status, body } = await testbed.call("EmailService/CancelEmail", { id });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.canceledRecipients, 2);
  const email = body.email as Awaited<ReturnType<typeof getEmail>>;
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.equal(email.statusMessage, "canceled");
  assert.deepEqual(
    email.recipients.map((recipient) => recipient.status),
    ["RECIPIENT_STATUS_CANCELED", "RECIPIENT_STATUS_CANCELED"],
  );
  const events = await eventsOf(testbed, id);
  assert.deepEqual(
    events.map(({ type, payload }) => ({ type, payload })),
    [{ type: "email.canceled", payload: { recipients: ["a@there.test", "b@other.test"] } }],
  );

  // The canceled email becomes due and stays unsent, while other mail of the same lane is sent.
  await testbed.database.sql`update emails set scheduled_at = now()`;
  await testbed.database.sql`update recipients set due_at = service_time()`;
  await accepted(testbed, { to: ["next@there.test"], cc: ["next@other.test"] });
  assert.equal(testbed.sink.received("next@there.test").length, 1);
  assert.equal(testbed.sink.received("next@other.test").length, 1);
  assert.equal(testbed.sink.commands.filter(({ line }) => /<[ab]@/.test(line)).length, 0);
});

test("canceling between two attempts cancels the waiting recipients and keeps the delivered ones", async () => {
  const id = await accepted(testbed, { to: ["ok@there.test", "grey@there.test"] });
  await untilEvent(testbed, id, "email.delayed");
  const { body } = await testbed.call("EmailService/CancelEmail", { id });
  assert.equal(body.canceledRecipients, 1);
  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.deepEqual(
    email.recipients.map((recipient) => [recipient.address, recipient.status]),
    [
      ["ok@there.test", "RECIPIENT_STATUS_DELIVERED"],
      ["grey@there.test", "RECIPIENT_STATUS_CANCELED"],
    ],
  );
  const types = (await eventsOf(testbed, id)).map(({ type }) => type).sort();
  assert.deepEqual(types, ["email.canceled", "email.delayed", "email.delivered"]);
});

test("CancelEmail rejects an email that is finished, canceled or unknown, and a call without an id", async () => {
  const finished = await accepted(testbed, { to: ["done@there.test"] });
  const scheduled = await accepted(testbed, { scheduledAt: tomorrow() });
  await testbed.call("EmailService/CancelEmail", { id: scheduled });
  for (const id of [finished, scheduled]) {
    const { status, body } = await testbed.call("EmailService/CancelEmail", { id });
    assert.equal(status, 400);
    assert.equal(body.code, "failed_precondition");
  }
  const unknown = await testbed.call("EmailService/CancelEmail", { id: "em_01890000-0000-7000-8000-000000000000" });
  assert.equal(unknown.body.code, "not_found");
  const empty = await testbed.call("EmailService/CancelEmail", {});
  assert.equal(empty.body.code, "invalid_argument");
});

test("of twenty concurrent CancelEmail calls one succeeds", async () => {
  const id = await accepted(testbed, { scheduledAt: tomorrow() });
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => testbed.call("EmailService/CancelEmail", { id })),
  );
  const codes = responses.map(({ body }) => body.code ?? "ok").sort();
  assert.deepEqual(codes, [...Array(19).fill("failed_precondition"), "ok"]);
  assert.equal((await eventsOf(testbed, id)).length, 1);
});
