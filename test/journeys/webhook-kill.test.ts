/** kill -9 while requests are under way: every event reaches the endpoint in the end, whatever the dead process had in its hands. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";

const kills = 3;
const emails = 40;

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld();
});
after(async () => await world.stop());

test("three kills in the middle of deliveries lose no event", async () => {
  const { receiver, database } = world;
  /** What the endpoint has said yes to. */
  const taken = new Set<string>();
  let holding = true;
  // Every second event is held while the kill comes: such a request is in the hands of a process that dies.
  let count = 0;
  receiver.script = ({ event }) => {
    if (holding && ++count % 2 === 0) return "hang";
    taken.add(event.id);
    return 200;
  };
  const webhook = await world.createWebhook();
  let program = world.program;
  for (let kill = 0; kill < kills; kill++) {
    holding = true;
    const before = receiver.requests.length;
    await Promise.all(
      Array.from({ length: emails / 4 }, (_, i) => accepted(world, { to: [`k${kill}-${i}@there.test`] })),
    );
    await receiver.until("requests under way", ({ requests }) => requests.length >= before + 3);
    await program.kill();
    holding = false;
    // As if half a minute of silence had passed: the dead process is known to be dead.
    await database.sql`update workers set seen_at = now() - interval '1 minute'`;
    program = await world.startNode();
  }
  await Promise.all(Array.from({ length: emails / 4 }, (_, i) => accepted(world, { to: [`end-${i}@there.test`] })));

  await world.untilEvents(
    "every email's event",
    (all) => all.filter(({ event }) => event.type === "email.delivered").length >= emails,
    60_000,
  );
  const events = await world.events();
  await until("every event at the endpoint", () => events.every(({ event }) => taken.has(event.id)), {
    withinMs: 60_000,
  });
  const log = await world.untilDeliveries(
    "all settled",
    webhook.id,
    (all) => all.every((one) => one.settledAt),
    60_000,
  );
  assert.equal(log.length, events.length, "one delivery for each event");
  assert.ok(log.every(({ status }) => status === "WEBHOOK_DELIVERY_STATUS_DELIVERED"));
});
