import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilTold } from "../harness/sending.ts";
import { byRecipient, on, scripts } from "../harness/sink.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({
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
        // Said to the whole message: it does not tell who of several is unknown.
        on("dot", ({ recipients }) =>
          recipients.includes("shared1@there.test") ? "550 5.1.1 User unknown" : undefined,
        ),
      ),
    },
  });
});
after(async () => await world.stop());

const attempts = (address: string) =>
  world.sink.commands.filter(({ line }) => line.toLowerCase() === `rcpt to:<${address}>`).length;

for (const mailbox of ["gone", "disabled", "words"]) {
  test(`an unknown mailbox (${mailbox}@) is not tried again`, async () => {
    const address = `${mailbox}@there.test`;
    const first = await accepted(world, { to: [address] });
    const [bounced] = await untilTold(world, first, "email.bounced");
    assert.equal(bounced!.payload.bounceType, "BOUNCE_TYPE_PERMANENT");
    const second = await accepted(world, {
      to: [address.toUpperCase().replace("THERE.TEST", "there.test")],
      cc: ["ok@there.test"],
    });
    const told = await untilTold(world, second, "email.suppressed");
    const suppressed = told.find(({ type }) => type === "email.suppressed")!;
    assert.equal(suppressed.payload.reason, "SUPPRESSION_REASON_BOUNCE");
    const events = await world.events();
    const source = events.find(({ event }) => event.emailId === first)!.event;
    assert.equal(suppressed.payload.sourceEventId, source.id);
    assert.equal(attempts(address), 1);
    const email = await getEmail(world, second);
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

test("an email to suppressed addresses alone is failed and never offered", async () => {
  const id = await accepted(world, { to: ["gone@there.test"] });
  const email = await getEmail(world, id);
  assert.equal(email.status, "EMAIL_STATUS_FAILED");
  assert.match(email.statusMessage, /suppression list/);
});

test("a refusal by policy, a full mailbox, or a refusal of a whole message costs no address its mail", async () => {
  for (const to of [["policy@there.test"], ["full@there.test"], ["shared1@there.test", "shared2@there.test"]]) {
    for (const _ of [1, 2]) {
      const told = await untilTold(world, await accepted(world, { to }), "email.bounced");
      assert.deepEqual(
        told.map(({ type }) => type),
        to.map(() => "email.bounced"),
      );
    }
    assert.equal(attempts(to[0]!), 2);
  }
  const listed = await world.database.sql<{ address: string }[]>`select address from suppressions order by address`;
  assert.deepEqual(
    listed.map(({ address }) => address),
    ["disabled@there.test", "gone@there.test", "words@there.test"],
  );
});

test("suppression is judged when the turn comes, not when the email is accepted", async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const id = await accepted(world, { to: ["later@there.test"], scheduledAt });
  await world.database
    .sql`insert into suppressions (workspace_id, address, reason) values (${world.workspaceId}, 'later@there.test', 'manual')`;
  await world.database.sql`update recipients set due_at = now() where status = 'queued'`;
  const told = await untilTold(world, id, "email.suppressed");
  assert.equal(told[0]!.payload.reason, "SUPPRESSION_REASON_MANUAL");
  assert.equal(attempts("later@there.test"), 0);
});
