import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  deliverInbound,
  eventsOfType,
  type InboundTestbed,
  returnPathOf,
  startInboundTestbed,
} from "../harness/inbound.ts";
import { accepted, eventsOf, getEmail, untilEvent, untilFinished } from "../harness/sending.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());

const corpus = (name: string) =>
  readFileSync(new URL(`../corpus/inbound/${name}.eml`, import.meta.url), "utf8").replaceAll(
    "gone@there.test",
    "a@there.test",
  );

async function delivered(to: string[]): Promise<string> {
  const id = await accepted(testbed, { to, metadata: { order: "9" } });
  await untilFinished(testbed, id);
  return id;
}

test("a bounce report after delivery sets its recipient to bounced once, and suppresses the address", async () => {
  const id = await delivered(["a@there.test", "b@there.test"]);
  const path = returnPathOf(id);
  await deliverInbound(testbed, { from: "", to: path, raw: corpus("dsn-postfix-unknown") });
  await deliverInbound(testbed, { from: "", to: path.toUpperCase(), raw: corpus("dsn-gmail") });
  const events = await eventsOf(testbed, id);
  const bounces = events.filter(({ type }) => type === "email.bounced");
  assert.equal(bounces.length, 1);
  assert.deepEqual(bounces[0]!.payload.recipients, ["a@there.test"]);
  assert.equal(bounces[0]!.payload.remoteMx, "store.there.test");
  assert.equal(bounces[0]!.payload.attempts, 1);
  const email = await getEmail(testbed, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT", "the status of the email does not change");
  assert.deepEqual(
    email.recipients.map(({ status }) => status),
    ["RECIPIENT_STATUS_BOUNCED", "RECIPIENT_STATUS_DELIVERED"],
  );
  const next = await accepted(testbed, { to: ["A@there.test"] });
  const suppressed = await untilEvent(testbed, next, "email.suppressed");
  assert.equal(suppressed[0]!.payload.reason, "SUPPRESSION_REASON_BOUNCE");
});

test("a report of a delay or a success changes nothing, and one about another address moves the recipient of the path", async () => {
  const id = await delivered(["c@there.test", "d@there.test"]);
  const typesAfter = async (name: string) => {
    await deliverInbound(testbed, { from: "", to: returnPathOf(id, 1), raw: corpus(name) });
    return (await eventsOf(testbed, id)).map(({ type }) => type);
  };
  for (const name of ["dsn-postfix-delayed", "dsn-success"])
    assert.deepEqual(await typesAfter(name), ["email.delivered", "email.delivered"], name);
  // The recipient forwards its mail to the address that the report names.
  assert.deepEqual((await typesAfter("dsn-for-unknown-recipient")).at(-1), "email.bounced");
  assert.deepEqual((await eventsOf(testbed, id)).at(-1)!.payload.recipients, ["d@there.test"]);
});

test("a report without a valid return path token is rejected or treated as ordinary mail", async () => {
  const id = await delivered(["e@there.test"]);
  for (const length of [52, 55]) {
    const forged = `rp-${"b".repeat(length)}@bounce.mail.posthorn.test`;
    await assert.rejects(
      deliverInbound(testbed, { from: "", to: forged, raw: corpus("dsn-postfix-unknown") }),
      /550 5\.1\.1/,
    );
  }
  // A report sent to a receiving domain is ordinary mail, however genuine it looks.
  const raw = corpus("dsn-postfix-unknown").replaceAll("a@there.test", "e@there.test");
  await deliverInbound(testbed, { from: "", to: "us@sender.test", raw });
  assert.deepEqual(
    (await eventsOf(testbed, id)).filter(({ type }) => type === "email.bounced"),
    [],
  );
});

test("a full mailbox bounces, and the address is not suppressed", async () => {
  const id = await delivered(["a2@there.test"]);
  const raw = corpus("dsn-mailbox-full").replaceAll("a@there.test", "a2@there.test");
  await deliverInbound(testbed, { from: "", to: returnPathOf(id), raw });
  const [, bounce] = await untilEvent(testbed, id, "email.bounced");
  assert.equal(bounce!.payload.bounceType, "BOUNCE_TYPE_TRANSIENT");
  assert.equal(bounce!.payload.category, "mailbox_full");
  await delivered(["a2@there.test"]);
});

test("an out-of-office message to the return path is automatic mail about its email, not a reply", async () => {
  const id = await delivered(["f@there.test"]);
  await deliverInbound(testbed, {
    from: "",
    to: returnPathOf(id),
    raw: corpus("auto-null-sender").replace(/^In-Reply-To.*\nRef.*\n/m, ""),
  });
  const events = await testbed.untilEvents("the message", (all) =>
    eventsOfType(all, "email.received").some(({ parentEmailId }) => parentEmailId === id),
  );
  const received = eventsOfType(events, "email.received").find(({ parentEmailId }) => parentEmailId === id)!;
  assert.equal(received.autoSubmitted, true);
  assert.equal(received.event.emailId, id);
  assert.deepEqual(received.event.metadata, { order: "9" });
  assert.equal(eventsOfType(events, "email.replied").length, 0);
});
