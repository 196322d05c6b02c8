import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { reckon, startLoad, untilSettled } from "../harness/ledger.ts";
import type { RunningProgram } from "../harness/program.ts";
import { accepted, getEmail, untilFinished } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
let first: RunningProgram;
let second: RunningProgram;
before(async () => {
  world = await startWorld();
  first = world.program;
  second = await world.startNode();
});
after(async () => await world?.stop());

/** src/store/settle.test.ts does the same with two settlers alone, 1,000 times. */
test("two nodes with the siblings of each email in hand: every status is right, every outcome is told once", async () => {
  // Answers are held back until much is in hand, then all come at once, so that siblings are settled at the same moment.
  let held = 0;
  world.sink.script = ({ verb }) => {
    if (verb !== "connect" || held > 8) return undefined;
    held++;
    return { reply: "220 sink.example.test ESMTP", dripMs: 20 };
  };
  const ids = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      accepted(world, { to: [`a${i}@there.test`, `gone${i}@other.test`, `c${i}@there.test`], async: true }),
    ),
  );
  await untilSettled(world);
  const events = await world.events();
  assert.deepEqual(
    events.map(({ cursor }) => cursor),
    events.map((_, i) => String(i + 1)),
  );
  assert.equal(events.length, 600);
  for (const id of ids) {
    const told = events.filter(({ event }) => event.emailId === id);
    assert.equal(told.length, 3);
    assert.ok(told.every(({ event }) => event.type === "email.delivered"));
  }
  const counters = await world.database.sql`select distinct status, open, accepted, total from emails`;
  assert.deepEqual([...counters], [{ status: "sent", open: 0, accepted: 3, total: 3 }]);
  // Two leases at the same moment may meet within an email, each with one of its recipients: allowed, and rare.
  assert.ok(
    world.sink.accepted < 420,
    `two recipients at one destination travel together: ${world.sink.accepted} mails for 400`,
  );
});

test("one of two nodes dies: the other takes its work over, and nothing is lost or doubled without a word", async () => {
  await world.database.sql`truncate emails, recipients, email_contents, events, idempotency`;
  await world.database.sql`update event_counters set last = 0`;
  world.sink.deliveries.length = 0;
  const load = startLoad(world, { name: "pair", senders: 4, pauseMs: 30 });
  await load.untilAcknowledged(20);
  await first.kill();
  await world.database.sql`update workers set seen_at = seen_at - interval '1 minute' where pid = ${first.pid}`;
  await load.untilAcknowledged(20);
  await load.stop();
  await untilSettled(world);
  await reckon(world, load.ledger);
});

test("a node that is told to stop while much is in hand settles it or gives it back: nothing is left in doubt", async () => {
  await world.database.sql`truncate emails, recipients, email_contents, events, idempotency`;
  await world.database.sql`update event_counters set last = 0`;
  world.sink.deliveries.length = 0;
  const third = await world.startNode();
  const load = startLoad(world, { name: "stop", senders: 4, pauseMs: 30 });
  await load.untilAcknowledged(20);
  assert.equal(await second.stop(), 0);
  const leases = await world.database.sql`select r.lease >> 32 as worker from recipients r
    where r.lease is not null and not exists (select 1 from workers w where w.id = r.lease >> 32)`;
  assert.deepEqual([...leases], [], "no lease of a worker that has gone");
  await load.untilAcknowledged(20);
  await load.stop();
  await untilSettled(world);
  const { duplicates } = await reckon(world, load.ledger);
  assert.equal(duplicates, 0);
  const doubts = await world.database.sql`select 1 from recipients where in_doubt`;
  assert.equal(doubts.length, 0);
  const id = await accepted(world, { to: ["after@there.test"] });
  assert.equal((await untilFinished(world, id)).status, "EMAIL_STATUS_SENT");
  assert.equal((await getEmail(world, id)).recipients.length, 1);
  assert.ok(third.pid > 0);
});
