/** Permanent bounces suppress an address, and suppressed addresses get no mail. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, eventsOf, getEmail, makeDue, untilEvent, untilFinished } from "../harness/sending.ts";
import { byRecipient, on, scripts } from "../harness/sink-script.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    sink: {
      script: scripts(
        byRecipient({
          gone: "550 5.1.1 The email account that you tried to reach does not exist",
          Gone: "550 5.1.1 The email account that you tried to reach does not exist",
          disabled: "550 5.2.1 Mailbox disabled, not accepting messages",
          words: "550 No such user here",
          policy: "550 5.7.1 Message rejected due to policy: no such user",
          full: "552 5.2.2 Mailbox full",
        }),
        // A reply to the message, not to the recipient.
        on("dot", ({ recipients }) => (recipients[0]!.startsWith("shared") ? "554 5.6.0 Message rejected" : undefined)),
      ),
    },
  });
});
after(async () => await testbed.stop());

const attempts = (address: string) =>
  testbed.sink.commands.filter(({ line }) => line.toLowerCase() === `rcpt to:<${address}>`).length;

for (const mailbox of ["gone", "disabled", "words"]) {
  test(`an unknown mailbox (${mailbox}@) is suppressed after the first bounce`, async () => {
    const address = `${mailbox}@there.test`;
    const first = await accepted(testbed, { to: [address] });
    const [bounced] = await untilEvent(testbed, first, "email.bounced");
    assert.equal(bounced!.payload.bounceType, "BOUNCE_TYPE_PERMANENT");
    const second = await accepted(testbed, {
      to: [address.toUpperCase().replace("THERE.TEST", "there.test")],
      cc: ["ok@there.test"],
    });
    const emailEvents = await untilEvent(testbed, second, "email.suppressed");
    const suppressed = emailEvents.find(({ type }) => type === "email.suppressed")!;
    assert.equal(suppressed.payload.reason, "SUPPRESSION_REASON_BOUNCE");
    const events = await testbed.events();
    const source = events.find(({ event }) => event.emailId === first)!.event;
    assert.equal(suppressed.payload.sourceEventId, source.id);
    assert.equal(attempts(address), 1);
    const email = await getEmail(testbed, second);
    assert.equal(email.status, "EMAIL_STATUS_SENT");
    assert.deepEqual(
      email.recipients.map(({ status, attempts: tried }) => [status, tried]),
      [
        ["RECIPIENT_STATUS_SUPPRESSED", 0],
        ["RECIPIENT_STATUS_DELIVERED", 1],
      ],
    );
  });
}

test("an email to only suppressed addresses fails without an attempt", async () => {
  const id = await accepted(testbed, { to: ["gone@there.test"] });
  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.match(email.statusMessage, /suppression list/);
});

test("a policy rejection, a full mailbox or a rejected message does not suppress an address", async () => {
  for (const to of [["policy@there.test"], ["full@there.test"], ["shared1@there.test", "shared2@there.test"]]) {
    for (const _ of [1, 2]) {
      const id = await accepted(testbed, { to });
      await untilFinished(testbed, id);
      const events = await eventsOf(testbed, id);
      assert.deepEqual(
        events.map(({ type }) => type),
        to.map(() => "email.bounced"),
      );
    }
    assert.equal(attempts(to[0]!), 2);
  }
  const listed = await testbed.database.sql<{ address: string }[]>`select address from suppressions order by address`;
  assert.deepEqual(
    listed.map(({ address }) => address),
    ["disabled@there.test", "gone@there.test", "words@there.test"],
  );
});

test("suppression is checked when the email is due, not when it is accepted", async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const id = await accepted(testbed, { to: ["later@there.test"], scheduledAt });
  await testbed.database
    .sql`insert into suppressions (workspace_id, address, reason) values (${testbed.workspaceId}, 'later@there.test', 'manual')`;
  await makeDue(testbed);
  const events = await untilEvent(testbed, id, "email.suppressed");
  assert.equal(events[0]!.payload.reason, "SUPPRESSION_REASON_MANUAL");
  assert.equal(attempts("later@there.test"), 0);
});

test("an import keeps addresses apart that only JavaScript spells alike in lower case", async () => {
  const csv = "address\n\u0130@there.test\ni\u0307@there.test\n";
  const { body } = await testbed.call("SuppressionService/ImportSuppressions", { csv });
  assert.deepEqual([body.added, body.alreadyPresent, body.refused], [2, 0, 0]);
  for (const to of ["\u0130@there.test", "i\u0307@there.test"])
    await untilEvent(testbed, await accepted(testbed, { to: [to] }), "email.suppressed");
});

// Their lower-case forms differ between JavaScript and PostgreSQL.
for (const address of ["İlk@there.test", "ΟΔΥΣΣΕΥΣ@there.test"]) {
  test(`${address} is suppressed by a caller, found and removed in the spelling that was given`, async () => {
    const added = await testbed.call("SuppressionService/AddSuppression", { address });
    assert.equal(added.status, 200, JSON.stringify(added.body));
    await untilEvent(testbed, await accepted(testbed, { to: [address] }), "email.suppressed");
    const found = await testbed.call("SuppressionService/ListSuppressions", { search: address });
    assert.equal((found.body.data as unknown[]).length, 1);
    const removed = await testbed.call("SuppressionService/RemoveSuppression", { address });
    assert.equal(removed.status, 200, JSON.stringify(removed.body));
  });

  test(`${address} is suppressed by an import`, async () => {
    const { body } = await testbed.call("SuppressionService/ImportSuppressions", { csv: `address\n${address}\n` });
    assert.equal(body.added, 1, JSON.stringify(body));
    await untilEvent(testbed, await accepted(testbed, { to: [address] }), "email.suppressed");
  });
}
