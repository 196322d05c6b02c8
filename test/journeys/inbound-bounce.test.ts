import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { bring, type InboundWorld, returnPathOf, startInboundWorld, told } from "../harness/inbound.ts";
import { accepted, getEmail, tellOf, untilTold } from "../harness/sending.ts";

let world: InboundWorld;
before(async () => {
  world = await startInboundWorld();
});
after(async () => await world.stop());

const corpus = (name: string) =>
  readFileSync(new URL(`../corpus/inbound/${name}.eml`, import.meta.url), "utf8").replaceAll(
    "gone@there.test",
    "a@there.test",
  );

async function delivered(to: string[]): Promise<string> {
  const id = await accepted(world, { to, metadata: { order: "9" } });
  await untilTold(world, id, "email.delivered");
  return id;
}

test("a report that comes after delivery moves its recipient to bounced, once, and the address is not written to again", async () => {
  const id = await delivered(["a@there.test", "b@there.test"]);
  const path = returnPathOf(id);
  await bring(world, { from: "", to: path, raw: corpus("dsn-postfix-unknown") });
  await bring(world, { from: "", to: path.toUpperCase(), raw: corpus("dsn-gmail") });
  const events = await tellOf(world, id);
  const bounces = events.filter(({ type }) => type === "email.bounced");
  assert.equal(bounces.length, 1);
  assert.deepEqual(bounces[0]!.payload.recipients, ["a@there.test"]);
  assert.equal(bounces[0]!.payload.remoteMx, "store.there.test");
  assert.equal(bounces[0]!.payload.attempts, 1);
  const email = await getEmail(world, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT", "the email's own status stays");
  assert.deepEqual(
    email.recipients.map(({ status }) => status),
    ["RECIPIENT_STATUS_BOUNCED", "RECIPIENT_STATUS_DELIVERED"],
  );
  const next = await accepted(world, { to: ["A@there.test"] });
  const suppressed = await untilTold(world, next, "email.suppressed");
  assert.equal(suppressed[0]!.payload.reason, "SUPPRESSION_REASON_BOUNCE");
});

test("a report about nobody of ours, a delay, and a success change nothing", async () => {
  const id = await delivered(["c@there.test", "d@there.test"]);
  for (const name of ["dsn-names-nobody-of-ours", "dsn-postfix-delayed", "dsn-success"])
    await bring(world, { from: "", to: returnPathOf(id), raw: corpus(name) });
  assert.deepEqual(
    (await tellOf(world, id)).map(({ type }) => type),
    ["email.delivered", "email.delivered"],
  );
});

test("without a token of ours nothing is even read", async () => {
  const id = await delivered(["e@there.test"]);
  const forged = `rp-${"b".repeat(52)}@bounce.mail.posthorn.test`;
  await assert.rejects(bring(world, { from: "", to: forged, raw: corpus("dsn-postfix-unknown") }), /550 5\.1\.1/);
  // Sent to a receiving domain it is a message like any other, however true it looks.
  const raw = corpus("dsn-postfix-unknown").replaceAll("a@there.test", "e@there.test");
  await bring(world, { from: "", to: "us@sender.test", raw });
  assert.deepEqual(
    (await tellOf(world, id)).filter(({ type }) => type === "email.bounced"),
    [],
  );
});

test("a full mailbox bounces without costing the address its mail", async () => {
  const id = await delivered(["a2@there.test"]);
  const raw = corpus("dsn-mailbox-full").replaceAll("a@there.test", "a2@there.test");
  await bring(world, { from: "", to: returnPathOf(id), raw });
  const [, bounce] = await untilTold(world, id, "email.bounced");
  assert.equal(bounce!.payload.bounceType, "BOUNCE_TYPE_TRANSIENT");
  assert.equal(bounce!.payload.category, "mailbox_full");
  await delivered(["a2@there.test"]);
});

test("an absence note to the return path is automatic mail about its email, and no reply", async () => {
  const id = await delivered(["f@there.test"]);
  await bring(world, {
    from: "",
    to: returnPathOf(id),
    raw: corpus("auto-null-sender").replace(/^In-Reply-To.*\nRef.*\n/m, ""),
  });
  const events = await world.untilEvents("the note", (all) =>
    told(all, "email.received").some(({ parentEmailId }) => parentEmailId === id),
  );
  const note = told(events, "email.received").find(({ parentEmailId }) => parentEmailId === id)!;
  assert.equal(note.autoSubmitted, true);
  assert.equal(note.event.emailId, id);
  assert.deepEqual(note.event.metadata, { order: "9" });
  assert.equal(told(events, "email.replied").length, 0);
});
