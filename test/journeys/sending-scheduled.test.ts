import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, getEmail, makeDue, untilFinished, untilTold } from "../harness/sending.ts";
import { startWorld, type World } from "../harness/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(async () => await world.stop());

const inMs = (ms: number) => new Date(Date.now() + ms);
const dateHeader = (data: Buffer) => new Date(/^Date: (.*)\r$/m.exec(data.toString("latin1"))![1]!);

test("a scheduled email waits for its time, then goes out by itself; one for next week stays", async () => {
  const scheduledAt = inMs(1500);
  const { body } = await world.send({ to: ["soon@there.test"], scheduledAt: scheduledAt.toISOString() });
  assert.equal(body.status, "EMAIL_STATUS_QUEUED");
  assert.match(body.statusMessage as string, /scheduled for/);
  const nextWeek = inMs(7 * 86_400_000);
  const far = await accepted(world, { to: ["far@there.test"], scheduledAt: nextWeek.toISOString() });

  const waiting = await getEmail(world, far);
  assert.equal(waiting.status, "EMAIL_STATUS_QUEUED");
  assert.equal(waiting.scheduledAt, nextWeek.toISOString());
  assert.equal(waiting.recipients[0]!.nextAttemptAt, nextWeek.toISOString());

  await untilTold(world, body.id as string, "email.delivered");
  const [event] = await world.events();
  assert.ok(new Date(event!.event.createdAt as string) >= scheduledAt, "delivered before its time");
  // RFC 5322 §3.6.1: the date is when the message is meant to go out, to the second.
  const [delivery] = world.sink.received("soon@there.test");
  assert.equal(dateHeader(delivery!.data).getTime(), Math.floor(scheduledAt.getTime() / 1000) * 1000);

  assert.equal((await getEmail(world, far)).status, "EMAIL_STATUS_QUEUED");
  assert.equal(world.sink.commands.filter(({ line }) => line.includes("far@there.test")).length, 0);
});

test("the time of a far-off email comes, however far it was", async () => {
  const id = await accepted(world, { to: ["later@there.test"], scheduledAt: inMs(29 * 86_400_000).toISOString() });
  await makeDue(world);
  assert.equal((await untilFinished(world, id)).status, "EMAIL_STATUS_SENT");
  assert.equal(world.sink.received("later@there.test").length, 1);
});

test("a time a little in the past means now", async () => {
  const { body } = await world.send({ to: ["past@there.test"], scheduledAt: inMs(-60_000).toISOString() });
  assert.equal(body.status, "EMAIL_STATUS_SENT");
});
