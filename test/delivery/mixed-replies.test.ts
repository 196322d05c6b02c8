import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, eventsOf, getEmail, untilEvent } from "../harness/sending.ts";
import { byRecipient } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_RETRY_SCHEDULE_MS: "600000" },
    sink: {
      script: byRecipient({
        gone: "550 5.1.1 User unknown",
        full: "452 4.2.2 Mailbox full",
        spam: "554 5.7.1 Message refused",
        forwarded: "251 2.1.5 User not local; will forward",
      }),
    },
  });
});
after(async () => await testbed.stop());

for (const [name, extensions] of [
  ["with pipelining", undefined],
  ["without extensions", []],
] as const) {
  test(`each recipient of an email has its own transaction and is settled by its own reply, ${name}`, async () => {
    if (extensions) Object.assign(testbed.sink.options, { extensions });
    await testbed.database.sql`delete from suppressions`;
    const before = testbed.sink.deliveries.length;
    const names = ["first", "gone", "full", "spam", "forwarded", "last"];
    const id = await accepted(testbed, { to: names.map((one) => `${one}@there.test`) });
    const email = await getEmail(testbed, id);
    assert.deepEqual(
      email.recipients.map(({ address, status, lastReply }) => [address.split("@")[0], status.slice(17), lastReply]),
      [
        ["first", "DELIVERED", "250 2.0.0 Queued"],
        ["gone", "BOUNCED", "550 5.1.1 User unknown"],
        ["full", "DELAYED", "452 4.2.2 Mailbox full"],
        ["spam", "BOUNCED", "554 5.7.1 Message refused"],
        ["forwarded", "DELIVERED", "250 2.0.0 Queued"],
        ["last", "DELIVERED", "250 2.0.0 Queued"],
      ],
    );
    assert.equal(email.status, "EMAIL_STATUS_QUEUED");
    const transactions = testbed.sink.deliveries.slice(before);
    assert.deepEqual(transactions.map(({ recipients }) => recipients.join()).sort(), [
      "first@there.test",
      "forwarded@there.test",
      "last@there.test",
    ]);
    assert.equal(new Set(transactions.map(({ from }) => from)).size, 3, "each has a return path of its own");
    const events = await eventsOf(testbed, id);
    assert.deepEqual(events.map(({ type, payload }) => `${(payload.recipients as string[]).join()} ${type}`).sort(), [
      "first@there.test email.delivered",
      "forwarded@there.test email.delivered",
      "full@there.test email.delayed",
      "gone@there.test email.bounced",
      "last@there.test email.delivered",
      "spam@there.test email.bounced",
    ]);
    await testbed.call("EmailService/CancelEmail", { id });
  });
}

test("an email of which every recipient is rejected sends no message", async () => {
  const before = testbed.sink.deliveries.length;
  await testbed.database.sql`delete from suppressions`;
  const id = await accepted(testbed, { to: ["gone@there.test", "spam@there.test"] });
  await untilEvent(testbed, id, "email.bounced");
  assert.equal((await getEmail(testbed, id)).status, "EMAIL_STATUS_FAILED");
  assert.equal(testbed.sink.deliveries.length, before);
});
