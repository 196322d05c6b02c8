import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertAudit, startLoad, untilSettled } from "../harness/ledger.ts";
import type { RunningProgram } from "../harness/program.ts";
import { accepted, getEmail, untilFinished } from "../harness/sending.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";

let testbed: Testbed;
let first: RunningProgram;
let second: RunningProgram;
before(async () => {
  testbed = await startTestbed();
  first = testbed.program;
  second = await testbed.startNode();
});
after(async () => await testbed?.stop());

/** src/delivery/store/settle.test.ts runs only the two settle statements against each other, 1,000 times. */
test("two nodes deliver recipients of the same emails: every status is right, and every outcome has one event", async () => {
  // The first greetings are slow, so that many recipients are leased. Then all replies arrive together, and both nodes
  // settle recipients of the same emails at the same time.
  let slowGreetings = 0;
  testbed.sink.script = ({ verb }) => {
    if (verb !== "connect" || slowGreetings > 8) return undefined;
    slowGreetings++;
    return { reply: "220 sink.example.test ESMTP", dripMs: 20 };
  };
  const ids = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      accepted(testbed, { to: [`a${i}@there.test`, `gone${i}@other.test`, `c${i}@there.test`], async: true }),
    ),
  );
  await untilSettled(testbed);
  const events = await testbed.events();
  assert.deepEqual(
    events.map(({ cursor }) => cursor),
    events.map((_, i) => String(i + 1)),
  );
  assert.equal(events.length, 600);
  for (const id of ids) {
    const ofEmail = events.filter(({ event }) => event.emailId === id);
    assert.equal(ofEmail.length, 3);
    assert.ok(ofEmail.every(({ event }) => event.type === "email.delivered"));
  }
  const counters = await testbed.database.sql`select distinct status, open, accepted, total from emails`;
  assert.deepEqual([...counters], [{ status: "sent", open: 0, accepted: 3, total: 3 }]);
  assert.equal(testbed.sink.accepted, 600, "one transaction for each recipient");
});

test("one of two nodes is killed: the other takes over its work, nothing is lost, and every duplicate is reported", async () => {
  await testbed.database.sql`truncate emails, recipients, email_contents, events, idempotency`;
  await testbed.database.sql`update event_counters set last = 0`;
  testbed.sink.deliveries.length = 0;
  const load = startLoad(testbed, { name: "pair", senders: 4, pauseMs: 30 });
  await load.untilAcknowledged(20);
  await first.kill();
  await testbed.database.sql`update workers set beat_at = beat_at - interval '1 minute' where pid = ${first.pid}`;
  await load.untilAcknowledged(20);
  await load.stop();
  await untilSettled(testbed);
  await assertAudit(testbed, load.ledger);
});

test("a node that shuts down under load settles or releases its recipients: none is left in doubt", async () => {
  await testbed.database.sql`truncate emails, recipients, email_contents, events, idempotency`;
  await testbed.database.sql`update event_counters set last = 0`;
  testbed.sink.deliveries.length = 0;
  const third = await testbed.startNode();
  const load = startLoad(testbed, { name: "stop", senders: 4, pauseMs: 30 });
  await load.untilAcknowledged(20);
  assert.equal(await second.stop(), 0);
  const leases = await testbed.database.sql`select r.lease >> 32 as worker from recipients r
    where r.lease is not null and not exists (select 1 from workers w where w.id = r.lease >> 32)`;
  assert.deepEqual([...leases], [], "no lease of a stopped worker");
  await load.untilAcknowledged(20);
  await load.stop();
  await untilSettled(testbed);
  const { duplicates } = await assertAudit(testbed, load.ledger);
  assert.equal(duplicates, 0);
  const inDoubt = await testbed.database.sql`select 1 from recipients where in_doubt`;
  assert.equal(inDoubt.length, 0);
  const id = await accepted(testbed, { to: ["after@there.test"] });
  assert.equal((await untilFinished(testbed, id)).status, "EMAIL_STATUS_SENT");
  assert.equal((await getEmail(testbed, id)).recipients.length, 1);
  assert.ok(third.pid > 0);
});
