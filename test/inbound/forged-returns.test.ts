/** A recipient of an email cannot report on another one: each copy has a return path and a token of its own. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { fromWireId } from "../../src/postgres/ids.ts";
import {
  copyTokenOf,
  deliverInbound,
  feedbackAddress,
  type InboundTestbed,
  returnPathOf,
  sharedReturnPathOf,
  startInboundTestbed,
} from "../harness/inbound.ts";
import { accepted, eventsOf, getEmail, untilFinished, violationsOf } from "../harness/sending.ts";
import type { Delivery } from "../harness/sink-script.ts";

let testbed: InboundTestbed;
before(async () => {
  testbed = await startInboundTestbed();
});
after(async () => await testbed.stop());
beforeEach(async () => {
  await testbed.database.sql`delete from suppressions`;
  await testbed.database.sql`delete from unattributed_reports`;
});

/** The attacker is the recipient in To; the others are at the same site. */
const attacker = "mallory@there.test";
const victim = "victim@there.test";
const hidden = "hidden@there.test";

type Copies = { id: string; copyOf(address: string): Delivery };

/** Sends an email to all three and waits until each has its copy. */
async function sent(extra: Record<string, unknown> = {}): Promise<Copies> {
  const id = await accepted(testbed, { to: [attacker], cc: [victim], bcc: [hidden], ...extra });
  await untilFinished(testbed, id);
  const ofEmail = testbed.sink.deliveries.filter(({ data }) => data.includes(id.slice(3)));
  return { id, copyOf: (address) => ofEmail.find(({ recipients }) => recipients.includes(address))! };
}

type Parts = { named: string; copy?: string; fields?: string[] };

function dsn({ named, copy = "" }: Parts): string {
  return report("delivery-status", "message/delivery-status", [
    ...["Reporting-MTA: dns; mx.there.test", "", `Final-Recipient: rfc822; ${named}`],
    ...[`Original-Recipient: rfc822; ${named}`, "Action: failed", "Status: 5.1.1"],
    ...["Diagnostic-Code: smtp; 550 5.1.1 User unknown", "", "--b", "Content-Type: message/rfc822", "", copy],
  ]);
}

function arf({ named, copy = "", fields = [] }: Parts): string {
  return report("feedback-report", "message/feedback-report", [
    ...["Feedback-Type: abuse", "Version: 1", "User-Agent: forged/1", `Original-Rcpt-To: ${named}`, ...fields],
    ...["", "--b", "Content-Type: message/rfc822", "", copy],
  ]);
}

function report(type: string, contentType: string, lines: string[]): string {
  const head = [
    "From: MAILER-DAEMON@mx.there.test",
    "Subject: Undelivered Mail Returned to Sender",
    `Message-ID: <${Math.random()}@mx.there.test>`,
    `Content-Type: multipart/report; report-type=${type}; boundary=b`,
  ];
  return [...head, "", "--b", `Content-Type: ${contentType}`, "", ...lines, "", "--b--", ""].join("\n");
}

async function statuses(id: string): Promise<Record<string, string>> {
  const { recipients } = await getEmail(testbed, id);
  return Object.fromEntries(recipients.map(({ address, status }) => [address, status.slice(17)]));
}

async function suppressed(): Promise<string[]> {
  const { body } = await testbed.call("SuppressionService/ListSuppressions", {});
  return (body.data as { address: string }[]).map(({ address }) => address);
}

type Listed = { emailId: string; kind: string; reason: string; namedRecipient: string; reports: number };

async function listed(): Promise<Listed[]> {
  const { body } = await testbed.call("InboundService/ListUnattributedReports", {});
  return body.data as Listed[];
}

const inShort = (all: readonly Listed[]) =>
  all.map(({ kind, reason, reports }) => `${kind.slice(25)} ${reason.slice(27)} ${reports}`).sort();

test("each recipient has a transaction and a return path of its own, and copies of one signed message", async () => {
  const { id, copyOf } = await sent();
  const copies = [attacker, victim, hidden].map(copyOf);
  assert.deepEqual(
    copies.map(({ recipients }) => recipients),
    [[attacker], [victim], [hidden]],
  );
  assert.deepEqual(
    copies.map(({ from }) => from),
    [0, 1, 2].map((position) => returnPathOf(id, position)),
  );
  const texts = copies.map(({ data }) => data.toString("latin1"));
  for (const [i, text] of texts.entries()) {
    const [first, second] = text.split("\r\n");
    assert.equal(first, `X-Posthorn-Copy: ${copyTokenOf(id, i)}`);
    assert.match(second!, /^DKIM-Signature: /);
    assert.doesNotMatch(/h=[^;]*;/s.exec(text)![0], /posthorn/i, "the field of the copy is not signed");
    assert.doesNotMatch(text, /hidden@|^bcc:/im);
  }
  const rest = texts.map((text) => text.slice(text.indexOf("\r\n")));
  assert.deepEqual(rest, [rest[0], rest[0], rest[0]]);
});

test("a bounce that a recipient forges about the others moves only the recipient itself", async () => {
  const { id, copyOf } = await sent();
  const own = copyOf(attacker);
  for (const named of [victim, hidden, "guessed@there.test"])
    await deliverInbound(testbed, { from: "", to: own.from, raw: dsn({ named, copy: own.data.toString() }) });
  assert.deepEqual(await statuses(id), { [attacker]: "BOUNCED", [victim]: "DELIVERED", [hidden]: "DELIVERED" });
  const bounces = (await eventsOf(testbed, id)).filter(({ type }) => type === "email.bounced");
  assert.deepEqual(
    bounces.map(({ payload }) => payload.recipients),
    [[attacker]],
  );
  assert.deepEqual(await suppressed(), [attacker]);
  // Every other address of ours that the attacker could make up is refused.
  const changed = [...own.from].map(
    (char, i) => own.from.slice(0, i) + (char === "a" ? "b" : "a") + own.from.slice(i + 1),
  );
  for (const to of changed.slice(3, 58))
    await assert.rejects(deliverInbound(testbed, { from: "", to, raw: dsn({ named: victim }) }), /550 5\.1\.1/);
});

test("the token in a copy that a recipient forwards is not an address for bounces", async () => {
  const { id } = await sent();
  for (const local of [copyTokenOf(id, 1), copyTokenOf(id, 1).replace("cp-", "rp-")]) {
    const to = `${local}@${returnPathOf(id).split("@")[1]}`;
    await assert.rejects(deliverInbound(testbed, { from: "", to, raw: dsn({ named: victim }) }), /550 5\.1\.1/);
  }
});

test("a bounce that arrives before the outcome of its attempt is stored is asked for again", async () => {
  const { id } = await sent();
  const { sql } = testbed.database;
  const emailId = fromWireId("email", id)!;
  await sql`update recipients set status = 'delayed' where email_id = ${emailId} and position = 1`;
  const report = { from: "", to: returnPathOf(id, 1), raw: dsn({ named: victim }) };
  await assert.rejects(deliverInbound(testbed, report), /451 4\.3\.0/);
  await sql`update recipients set status = 'delivered' where email_id = ${emailId} and position = 1`;
  await deliverInbound(testbed, report);
  assert.equal((await statuses(id))[victim], "BOUNCED");
});

test("a complaint that a recipient forges about the others moves only the recipient itself", async () => {
  const { id, copyOf } = await sent();
  const own = copyOf(attacker).data.toString();
  const withPath = `Return-Path: <${copyOf(attacker).from}>\r\n${own.replace(/^X-Posthorn-Copy.*\r\n/, "")}`;
  for (const named of [victim, hidden])
    for (const copy of [own, withPath])
      for (const to of [feedbackAddress, copyOf(attacker).from])
        await deliverInbound(testbed, { to, raw: arf({ named, copy }) });
  const complaints = (await eventsOf(testbed, id)).filter(({ type }) => type === "email.complained");
  assert.deepEqual(
    complaints.map(({ payload }) => payload.recipients),
    [[attacker]],
    "one event, however many reports",
  );
  assert.deepEqual(await suppressed(), [attacker]);
});

test("a complaint without a valid token changes nothing and is listed for the workspace of its Message-ID", async () => {
  const { id, copyOf } = await sent();
  const bare = copyOf(attacker)
    .data.toString()
    .replace(/^X-Posthorn-Copy.*\r\n/, "");
  const forged = bare.replace(/^/, `X-Posthorn-Copy: cp-${"b".repeat(55)}\r\n`);
  for (const named of [victim, hidden])
    await deliverInbound(testbed, { to: feedbackAddress, raw: arf({ named, copy: bare }) });
  await deliverInbound(testbed, { to: feedbackAddress, raw: arf({ named: victim, copy: forged }) });
  // Nothing of ours: counted only.
  await deliverInbound(testbed, {
    to: feedbackAddress,
    raw: arf({ named: victim, copy: "Message-ID: <1@else.test>\n" }),
  });
  assert.deepEqual(await suppressed(), []);
  assert.ok((await eventsOf(testbed, id)).every(({ type }) => type === "email.delivered"));
  const all = await listed();
  assert.deepEqual(inShort(all), ["COMPLAINT INVALID_TOKEN 1", "COMPLAINT NO_TOKEN 2"]);
  assert.ok(all.every(({ emailId }) => emailId === id));
  assert.equal(all.find(({ reason }) => reason.endsWith("NO_TOKEN"))!.namedRecipient, hidden, "the newest claim");
  const metrics = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
  assert.match(metrics, /posthorn_unattributed_reports_total\{kind="complaint",listed="true"\} 3/);
  assert.match(metrics, /posthorn_unattributed_reports_total\{kind="complaint",listed="false"\} 1/);
});

test("true reports move the right recipient, also when it forwards its mail", async () => {
  const { id, copyOf } = await sent();
  await deliverInbound(testbed, { from: "", to: copyOf(hidden).from, raw: dsn({ named: "home@elsewhere.test" }) });
  const copy = copyOf(victim).data.toString();
  await deliverInbound(testbed, { to: feedbackAddress, raw: arf({ named: "redacted@there.test", copy }) });
  assert.deepEqual(await statuses(id), { [attacker]: "DELIVERED", [victim]: "DELIVERED", [hidden]: "BOUNCED" });
  const complaints = (await eventsOf(testbed, id)).filter(({ type }) => type === "email.complained");
  assert.deepEqual(
    complaints.map(({ payload }) => payload.recipients),
    [[victim]],
  );
  assert.deepEqual((await suppressed()).sort(), [hidden, victim]);
  assert.deepEqual(await listed(), []);
});

test("a return path of an earlier release counts for an email with one recipient, and is listed for one with several", async () => {
  const { id } = await sent();
  const shared = sharedReturnPathOf(id);
  const copy = `Return-Path: <${shared}>\n`;
  for (const named of [victim, hidden]) {
    await deliverInbound(testbed, { from: "", to: shared, raw: dsn({ named }) });
    await deliverInbound(testbed, { to: feedbackAddress, raw: arf({ named, copy }) });
  }
  assert.deepEqual(inShort(await listed()), ["BOUNCE SHARED_PATH 2", "COMPLAINT SHARED_PATH 2"]);
  assert.deepEqual(await suppressed(), []);
  assert.ok((await eventsOf(testbed, id)).every(({ type }) => type === "email.delivered"));

  const single = await sent({ cc: [], bcc: [] });
  const old = sharedReturnPathOf(single.id);
  await deliverInbound(testbed, {
    to: feedbackAddress,
    raw: arf({ named: victim, fields: [`Original-Mail-From: ${old}`] }),
  });
  await deliverInbound(testbed, { from: "", to: old, raw: dsn({ named: victim }) });
  assert.deepEqual(await statuses(single.id), { [attacker]: "BOUNCED" });
  assert.deepEqual(
    (await eventsOf(testbed, single.id)).map(({ type, payload }) => `${type} ${payload.recipients}`),
    ["email.delivered", "email.complained", "email.bounced"].map((type) => `${type} ${attacker}`),
  );
});

test("a bounce more than 30 days after the last attempt changes nothing and is listed, a complaint still counts", async () => {
  const { id, copyOf } = await sent();
  const { sql } = testbed.database;
  await sql`update recipients set due_at = service_time() - interval '30 days' + interval '1 minute' where email_id = ${id.slice(3)} and position = 0`;
  await sql`update recipients set due_at = service_time() - interval '30 days 1 minute' where email_id = ${id.slice(3)} and position = 1`;
  for (const address of [attacker, victim])
    await deliverInbound(testbed, { from: "", to: copyOf(address).from, raw: dsn({ named: address }) });
  assert.deepEqual(await statuses(id), { [attacker]: "BOUNCED", [victim]: "DELIVERED", [hidden]: "DELIVERED" });
  assert.deepEqual(inShort(await listed()), ["BOUNCE EXPIRED 1"]);
  const copy = copyOf(victim).data.toString();
  await deliverInbound(testbed, { to: feedbackAddress, raw: arf({ named: victim, copy }) });
  assert.deepEqual((await suppressed()).sort(), [attacker, victim]);
});

test("a caller cannot set the field of a copy", async () => {
  for (const name of ["X-Posthorn-Copy", "x-posthorn-copy"]) {
    const { status, body } = await testbed.send({ headers: { [name]: "rp-x" } });
    assert.deepEqual([status, body.code], [400, "invalid_argument"]);
    assert.match(violationsOf(body)[0]!.description, /cannot be set here: the service sets it/);
  }
});
