import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, typesOf, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld();
});
after(async () => await world.stop());

test("a webhook gets the event types it asked for, and all after it asked for all", async () => {
  const { receiver } = world;
  world.dns.set("nomail.test", "MX", "0 .");
  const bounces = await world.createWebhook({ url: `${receiver.url}/bounces`, eventTypes: ["email.bounced"] });
  const all = await world.createWebhook({ url: `${receiver.url}/all`, eventTypes: ["*"] });
  assert.deepEqual(all.eventTypes, []);

  await accepted(world, { to: ["a@there.test"] });
  await receiver.until("the delivered event", () => receiver.at("/all").length === 1);
  await accepted(world, { to: ["a@nomail.test"] });
  await receiver.until(
    "the bounce at both",
    () => receiver.at("/all").length === 2 && receiver.at("/bounces").length === 1,
  );
  assert.deepEqual(typesOf(receiver.at("/all")), ["email.delivered", "email.bounced"]);
  assert.deepEqual(typesOf(receiver.at("/bounces")), ["email.bounced"]);
  assert.equal((await world.deliveries(bounces.id)).length, 1, "what is not wanted makes no delivery");

  const updated = await world.ask("UpdateWebhook", { id: bounces.id, eventTypes: ["*"] });
  assert.deepEqual((updated.webhook as { eventTypes: string[] }).eventTypes, []);
  await accepted(world, { to: ["b@there.test"] });
  await receiver.until("the delivered event at both", () => receiver.at("/bounces").length === 2);
  assert.deepEqual(typesOf(receiver.at("/bounces")), ["email.bounced", "email.delivered"]);
});
