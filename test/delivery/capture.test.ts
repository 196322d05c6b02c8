/** Capture mode with a live key: no mail leaves the machine, and the local part of a recipient selects the simulated result. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type EmailEvent, getEmail, untilEvent, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({ env: { POSTHORN_DELIVERY: "capture" } });
});
after(async () => await testbed.stop());

const names = ["anybody", "delivered", "bounced", "full", "delayed", "complained", "replied", "suppressed"] as const;
const expectedTypes: Record<(typeof names)[number], string[]> = {
  anybody: ["email.delivered"],
  delivered: ["email.delivered"],
  bounced: ["email.bounced"],
  full: ["email.delayed", "email.bounced"],
  delayed: ["email.delayed", "email.delayed", "email.delivered"],
  complained: ["email.delivered", "email.complained"],
  replied: ["email.delivered", "email.replied"],
  suppressed: ["email.suppressed"],
};

test("one email to all simulated recipients: each gets its own events", async () => {
  const to = names.map((name) => `${name}@there.test`);
  const { status, body } = await testbed.send({ to, metadata: { run: "7" } });
  assert.equal(status, 200, JSON.stringify(body));
  assert.notEqual(body.status, "EMAIL_STATUS_SENT", "delayed@ is still open after the first attempts");
  const id = body.id as string;
  await untilFinished(testbed, id);
  for (const last of ["email.complained", "email.replied"]) await untilEvent(testbed, id, last);
  const events = await untilEvent(testbed, id, "email.bounced");
  const typesFor = (name: string) =>
    events.filter((one) => recipientOf(one) === `${name}@there.test`).map(({ type }) => type);
  for (const name of names) assert.deepEqual(typesFor(name), expectedTypes[name], name);

  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.statusMessage, "accepted for 5 of 8 recipients");
  assert.equal(
    (await testbed.database.sql`select 1 from suppressions`).length,
    0,
    "a simulated bounce suppresses no address",
  );
});

test("delivered mail is in the local mailbox, one complete signed copy per recipient", async () => {
  const { body } = await testbed.send({
    to: ["a@there.test", "b@other.test"],
    bcc: ["c@there.test"],
    body: "Captured",
  });
  assert.equal(body.status, "EMAIL_STATUS_SENT");
  const folder = join(testbed.program.dataDir, "mailbox", "new");
  const messages = readdirSync(folder)
    .filter((name) => name.startsWith(body.id as string))
    .map((name) => readFileSync(join(folder, name), "latin1"));
  assert.deepEqual(messages.map((text) => /^Delivered-To: (.*)\r$/m.exec(text)?.[1]).sort(), [
    "a@there.test",
    "b@other.test",
    "c@there.test",
  ]);
  for (const text of messages) {
    assert.match(text, /^DKIM-Signature: /m);
    assert.match(text, /\r\n\r\nCaptured\r\n$/);
    assert.doesNotMatch(
      text.replace(/^Delivered-To: .*$/m, ""),
      /c@there\.test/,
      "the bcc address occurs nowhere else",
    );
  }
});

test("no connection to a mail server was opened", () => {
  assert.equal(testbed.sink.connections.opened, 0);
});

/** The recipient that an event is about. For a reply that is its author. */
function recipientOf({ payload }: EmailEvent): string {
  return (payload.recipients as string[] | undefined)?.join() ?? (payload.from as string);
}
