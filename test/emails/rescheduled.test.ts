/** UpdateEmail gives a scheduled email another time: it is sent then, with that Date, and not before. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { lockTable, untilBlocked } from "../harness/kill-points.ts";
import { accepted, eventsOf, getEmail, makeDue, untilEvent, untilFinished, violationsOf } from "../harness/sending.ts";
import { submitRaw } from "../harness/submission.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { until } from "../harness/wait.ts";

let testbed: Testbed;
before(async () => {
  testbed = await startTestbed();
});
after(async () => await testbed?.stop());

const minuteMs = 60_000;
const dayMs = 86_400_000;
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
const toSecond = (time: string) => Math.floor(Date.parse(time) / 1000) * 1000;
const dateIn = (raw: Buffer) => Date.parse(/^Date: (.*)\r$/m.exec(raw.toString("latin1"))![1]!);

const update = (id: string, scheduledAt: string | undefined) =>
  testbed.call("EmailService/UpdateEmail", { id, scheduledAt });

async function updated(id: string, scheduledAt: string): Promise<Awaited<ReturnType<typeof getEmail>>> {
  const { status, body } = await update(id, scheduledAt);
  assert.equal(status, 200, JSON.stringify(body));
  const email = body.email as Awaited<ReturnType<typeof getEmail>>;
  assert.equal((await getEmail(testbed, id)).scheduledAt, email.scheduledAt);
  return email;
}

async function rawOf(id: string, { call } = testbed): Promise<Buffer> {
  const { status, body } = await call("EmailService/GetEmailContent", { id });
  assert.equal(status, 200, JSON.stringify(body));
  return Buffer.from(body.raw as string, "base64");
}

test("an email that is moved earlier is sent at its new time, and one that is moved later is not sent at the old one", async () => {
  const later = await accepted(testbed, { to: ["later@there.test"], scheduledAt: inMs(6000) });
  const earlier = await accepted(testbed, { to: ["earlier@there.test"], scheduledAt: inMs(9 * dayMs) });
  const moved = await updated(later, inMs(20 * dayMs));
  const soon = inMs(7000);
  const { updatedAt, createdAt } = await updated(earlier, soon);
  assert.ok(Date.parse(updatedAt as string) > Date.parse(createdAt));
  await untilEvent(testbed, earlier, "email.delivered");
  assert.ok(Date.now() >= Date.parse(soon), "delivered before its time");
  const [delivery] = testbed.sink.received("earlier@there.test");
  assert.equal(dateIn(delivery!.data), toSecond(soon));
  assert.equal(testbed.sink.commands.filter(({ line }) => line.includes("later@there.test")).length, 0);

  const waiting = await getEmail(testbed, later);
  assert.equal(waiting.status, "EMAIL_STATUS_QUEUED");
  assert.equal(waiting.scheduledAt, moved.scheduledAt);
  assert.equal(waiting.recipients[0]!.nextAttemptAt, moved.scheduledAt);
  assert.equal(Date.parse(waiting.expiresAt as string) - Date.parse(waiting.scheduledAt as string), 2 * dayMs);
  assert.equal(dateIn(await rawOf(later)), toSecond(moved.scheduledAt as string));
  assert.deepEqual(await eventsOf(testbed, later), [], "no event");
  await makeDue(testbed);
  assert.equal((await untilFinished(testbed, later)).status, "EMAIL_STATUS_SENT");
  assert.equal(testbed.sink.received("later@there.test").length, 1);
});

test("a time up to five minutes in the past sends the email now, once, however often the call is repeated", async () => {
  const scheduledAt = inMs(9 * dayMs);
  const id = await accepted(testbed, { to: ["now@there.test"], cc: ["now@other.test"], scheduledAt });
  const past = inMs(-4 * minuteMs);
  const began = Date.now();
  await updated(id, past);
  await updated(id, past);
  const email = await untilFinished(testbed, id);
  assert.ok(Math.abs(Date.parse(email.scheduledAt as string) - began) < minuteMs, "the time of the call");
  const [delivery] = testbed.sink.received("now@there.test");
  assert.equal(dateIn(delivery!.data), toSecond(email.scheduledAt as string));
  assert.equal((await update(id, past)).status, 200);
  for (const to of ["now@there.test", "now@other.test"]) assert.equal(testbed.sink.received(to).length, 1);
  const entries = await testbed.database.sql`select 1 from audit_entries where action = 'email.rescheduled' and
    target_id = ${id.slice(3)}`;
  assert.equal(entries.length, 1, "only the first call changed something");
});

test("a message that was submitted over SMTP gets the new time in its Date, and keeps its own content", async () => {
  const raw = `From: news@sender.test
To: submitted@there.test
Date: Tue, 01 Jan 2030 00:00:00 +0000
X-Posthorn-Scheduled-At: ${inMs(3 * dayMs)}
Message-ID: <own@sender.test>
Subject: Own

own text
`;
  const { id } = await submitRaw(testbed, { to: ["submitted@there.test"], raw });
  const next = inMs(12 * dayMs);
  await updated(id, next);
  assert.equal(dateIn(await rawOf(id)), toSecond(next));
  const email = await updated(id, inMs(-minuteMs));
  await untilEvent(testbed, id, "email.delivered");
  const [delivery] = testbed.sink.received("submitted@there.test");
  assert.equal(dateIn(delivery!.data), toSecond(email.scheduledAt as string));
  assert.match(delivery!.data.toString(), /Message-ID: <own@sender\.test>[\s\S]*own text/);
});

test("an email with a large attachment keeps its content at its new day", async () => {
  const base64Content = Buffer.alloc(3_000_000, "large ").toString("base64");
  const attachments = [{ filename: "large.txt", base64Content }];
  const id = await accepted(testbed, { to: ["large@there.test"], scheduledAt: inMs(2 * dayMs), attachments });
  const before = await rawOf(id);
  const { scheduledAt } = await updated(id, inMs(15 * dayMs));
  const afterwards = await rawOf(id);
  const withoutDate = (message: Buffer) => message.toString("latin1").replace(/^Date: .*\r\n/m, "");
  assert.equal(withoutDate(afterwards), withoutDate(before));
  assert.equal(dateIn(afterwards), toSecond(scheduledAt as string));
});

test("the content can be read at every moment while it moves", async () => {
  const id = await accepted(testbed, { to: ["read@there.test"], scheduledAt: inMs(2 * dayMs) });
  let isOver = false;
  let reads = 0;
  const readers = Array.from({ length: 3 }, async () => {
    for (; !isOver; reads++) assert.match((await rawOf(id)).toString(), /Hello there/);
  });
  for (let turn = 0; turn < 40; turn++) await updated(id, inMs((3 + (turn % 9)) * dayMs));
  isOver = true;
  await Promise.all(readers);
  assert.ok(reads > 20, `${reads} reads`);
});

test("emails that cannot be rescheduled and wrong times are refused, and the error says why", async () => {
  const waiting = await accepted(testbed, { scheduledAt: inMs(dayMs), expiresAt: inMs(2 * dayMs) });
  const unscheduled = await accepted(testbed, { to: ["done@there.test"] });
  const canceled = await accepted(testbed, { scheduledAt: inMs(dayMs) });
  await testbed.call("EmailService/CancelEmail", { id: canceled });
  for (const [id, reason] of [
    [unscheduled, /sent without scheduledAt/],
    [canceled, /was canceled/],
  ] as const) {
    const { status, body } = await update(id, inMs(2 * dayMs));
    assert.equal(status, 400);
    assert.equal(body.code, "failed_precondition");
    assert.match(body.message as string, reason);
  }
  const times: [string | undefined, RegExp][] = [
    [undefined, /is required/],
    [inMs(30 * dayMs + minuteMs), /more than 30 days ahead/],
    [inMs(-6 * minuteMs), /more than 5 minutes in the past/],
    [inMs(3 * dayMs), /the expiresAt of this email is \d{4}-.*Z/],
  ];
  for (const [scheduledAt, reason] of times) {
    const { body } = await update(waiting, scheduledAt);
    assert.equal(body.code, "invalid_argument");
    const [violation] = violationsOf(body);
    assert.equal(violation!.field, "scheduledAt");
    assert.match(violation!.description, reason);
  }
  const empty = await testbed.call("EmailService/UpdateEmail", {});
  assert.deepEqual(
    violationsOf(empty.body).map(({ field }) => field),
    ["id", "scheduledAt"],
  );
  assert.equal((await update("em_01890000-0000-7000-8000-000000000000", inMs(dayMs))).body.code, "not_found");
  assert.equal((await update("em_nothing", inMs(dayMs))).body.code, "not_found");
});

test("an email that is being sent keeps its time", async () => {
  const id = await accepted(testbed, { to: ["slow@there.test"], scheduledAt: inMs(dayMs) });
  testbed.sink.script = ({ line }) => (line.includes("slow@there.test") ? "silence" : undefined);
  await updated(id, inMs(0));
  await until("the attempt", () =>
    testbed.sink.commands.some(({ line }) => line.includes("RCPT TO:<slow@there.test>")),
  );
  const { body } = await update(id, inMs(dayMs));
  assert.equal(body.code, "failed_precondition");
  assert.match(body.message as string, /is being sent right now/);
  testbed.sink.script = () => undefined;
  testbed.sink.release();
  testbed.sink.hangUp();
  await untilFinished(testbed, id);
  assert.match((await update(id, inMs(dayMs))).body.message as string, /first attempt has been made/);
});

test("kill -9 at each step leaves the email at its old time, with its content", async () => {
  // Without deliveries, so that only UpdateEmail waits for the locks.
  const killed = await startTestbed({ env: { POSTHORN_ROLES: "api" } });
  try {
    const scheduledAt = inMs(5 * dayMs);
    const id = await accepted(killed, { to: ["killed@there.test"], scheduledAt });
    const before = await rawOf(id, killed);
    let node = killed.program;
    for (const table of ["recipients", "emails", "email_contents", "content_sizes", "audit_entries"]) {
      const lock = await lockTable(killed, table, "exclusive");
      const request = { id, scheduledAt: inMs(11 * dayMs) };
      const answer = node.call("EmailService/UpdateEmail", request).catch(() => undefined);
      await untilBlocked(killed, table);
      await node.kill();
      await answer;
      await lock.release();
      node = await killed.restartNode(node);
      const email = await getEmail(killed, id);
      assert.equal(email.scheduledAt, scheduledAt, table);
      assert.equal(email.updatedAt, email.createdAt, table);
      assert.deepEqual(await rawOf(id, killed), before, table);
    }
    const { status } = await killed.call("EmailService/UpdateEmail", { id, scheduledAt: inMs(-minuteMs) });
    assert.equal(status, 200);
    await killed.startNode({ POSTHORN_ROLES: "delivery" });
    killed.call = node.call;
    assert.equal((await untilFinished(killed, id)).status, "EMAIL_STATUS_SENT");
    assert.equal(killed.sink.received("killed@there.test").length, 1);
  } finally {
    await killed.stop();
  }
});
