import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, untilTold } from "../harness/sending.ts";
import { greylist } from "../harness/sink.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld({ sink: { script: greylist(2) }, env: { POSTHORN_RETRY_SCHEDULE_MS: "300,400" } });
});
after(async () => await world.stop());

test("a greylisted recipient is deferred, tried again after the schedule, and delivered", async () => {
  const id = await accepted(world, { to: ["grey@there.test"] });
  const told = await untilTold(world, id, "email.delivered");
  assert.deepEqual(
    told.map(({ type }) => type),
    ["email.delayed", "email.delayed", "email.delivered"],
  );
  const [first, second, last] = told as [(typeof told)[0], (typeof told)[0], (typeof told)[0]];
  assert.equal(first.payload.category, "greylisted");
  assert.equal(first.payload.enhancedCode, "4.7.1");
  assert.match(first.payload.smtpReply as string, /^451 4\.7\.1 Greylisted/);
  assert.equal(first.payload.remoteMx, "mx.there.test");
  assert.deepEqual(
    [first, second, last].map(({ payload }) => payload.attempts),
    [1, 2, 3],
  );
  assert.equal(last.payload.possibleDuplicate, false);
  assert.equal(world.sink.received("grey@there.test").length, 1);

  const events = (await world.events()).map(({ event }) => event);
  const at = (i: number) => new Date(events[i]!.createdAt as string).getTime();
  // Each retry came no sooner than its event had said, and within the 20 % of the schedule.
  for (const [i, waitMs] of [300, 400].entries()) {
    const promised = new Date((events[i]!.delayed as { nextAttemptAt: string }).nextAttemptAt).getTime();
    assert.ok(at(i + 1) >= promised, `attempt ${i + 2} came before ${new Date(promised).toISOString()}`);
    assert.ok(promised - at(i) <= waitMs * 1.2 + 1, `attempt ${i + 2} was put off by ${promised - at(i)} ms`);
  }
  const email = await getEmail(world, id);
  assert.equal(email.status, "EMAIL_STATUS_SENT");
  assert.equal(email.recipients[0]!.attempts, 3);
});

test("recipients that were deferred together come back together", async () => {
  const to = ["x@other.test", "y@other.test", "z@other.test"];
  const id = await accepted(world, { to });
  await untilTold(world, id, "email.delivered");
  await world.sink.until((sink) => to.every((address) => sink.received(address).length === 1));
  assert.equal(world.sink.received("x@other.test")[0], world.sink.received("z@other.test")[0]);
});

test("every attempt sends the same bytes", async () => {
  world.sink.script = ({ verb, seen }) => (verb === "dot" && seen === 1 ? "451 4.3.0 Try again" : undefined);
  await untilTold(world, await accepted(world, { to: ["same@there.test"], html: "<p>Hi</p>" }), "email.delivered");
  const copies = world.sink.deliveries.filter(({ recipients }) => recipients.includes("same@there.test"));
  assert.equal(copies.length, 2);
  assert.deepEqual(copies[0]!.raw, copies[1]!.raw);
});
