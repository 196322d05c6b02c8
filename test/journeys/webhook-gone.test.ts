import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, typesOf, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld();
});
after(async () => await world.stop());

test("410 disables a webhook at once, the others hear of it, and enabling goes on with what is new", async () => {
  const { receiver } = world;
  let gone = true;
  receiver.script = ({ path }) => (path === "/gone" && gone ? 410 : 200);
  const webhook = await world.createWebhook({ url: `${receiver.url}/gone` });
  await world.createWebhook({ url: `${receiver.url}/witness`, eventTypes: ["webhook.disabled"] });

  await accepted(world, {});
  await receiver.until("the news of it", () => receiver.at("/witness").length === 1);
  const { webhookDisabled } = receiver.at("/witness")[0]!.event as { webhookDisabled?: Record<string, unknown> };
  assert.equal(webhookDisabled!.webhookId, webhook.id);
  assert.equal(webhookDisabled!.url, webhook.url);
  assert.match(webhookDisabled!.reason as string, /410/);
  assert.equal("failingSince" in webhookDisabled!, false);

  const off = await world.getWebhook(webhook.id);
  assert.equal(off.status, "WEBHOOK_STATUS_DISABLED");
  assert.match(off.disabledReason, /answered 410/);
  assert.ok(off.disabledAt);
  const [failed] = await world.deliveries(webhook.id);
  assert.deepEqual([failed!.status, failed!.attempts], ["WEBHOOK_DELIVERY_STATUS_FAILED", 1]);

  await accepted(world, { to: ["missed@there.test"] });
  await world.untilEvents("the event that nobody hears", (events) => events.length === 3);
  const again = await world.call("WebhookService/RedeliverWebhook", { webhookId: webhook.id, deliveryId: failed!.id });
  assert.equal(again.body.code, "failed_precondition");

  gone = false;
  const enabled = (await world.ask("UpdateWebhook", { id: webhook.id, enabled: true })).webhook as typeof off;
  assert.deepEqual(
    [enabled.status, enabled.disabledReason, enabled.disabledAt],
    ["WEBHOOK_STATUS_ENABLED", "", undefined],
  );
  await accepted(world, { to: ["heard@there.test"] });
  await receiver.until("the new event", () => receiver.at("/gone").length === 2);
  assert.equal(receiver.at("/gone").length, 2);
  assert.deepEqual(typesOf(receiver.at("/gone")), ["email.delivered", "email.delivered"]);
  const heard = receiver.at("/gone")[1]!.event as { delivered?: { recipients: string[] } };
  assert.deepEqual(heard.delivered!.recipients, ["heard@there.test"]);

  // What was missed is brought back by its range.
  const { scheduled } = await world.ask("RedeliverWebhook", { webhookId: webhook.id, fromCursor: "3", toCursor: "3" });
  assert.equal(scheduled, 1);
  await receiver.until("the event that was missed", () => receiver.at("/gone").length === 3);
});

test("one that is switched off by hand posts nothing, makes no event, and fails what was waiting", async () => {
  const { receiver } = world;
  await world.database.sql`delete from webhooks`;
  receiver.requests.length = 0;
  receiver.script = () => 500;
  const webhook = await world.createWebhook({ url: `${receiver.url}/off` });
  await accepted(world, {});
  await receiver.until("an attempt", () => receiver.at("/off").length >= 1);
  await world.ask("UpdateWebhook", { id: webhook.id, enabled: false });
  const [dropped] = await world.untilDeliveries(
    "the end of what waited",
    webhook.id,
    ([one]) => one?.settledAt !== undefined,
  );
  assert.equal(dropped!.status, "WEBHOOK_DELIVERY_STATUS_FAILED");
  const off = await world.getWebhook(webhook.id);
  assert.deepEqual([off.status, off.disabledReason], ["WEBHOOK_STATUS_DISABLED", "switched off by UpdateWebhook"]);
  const disablings = (await world.events()).filter(({ event }) => event.type === "webhook.disabled");
  assert.equal(disablings.length, 1, "only the one of the test before");
});
