import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventTypes } from "../../src/api/event-wire.ts";
import { violationsOf } from "../harness/sending.ts";
import { startWebhookWorld, verifies, type WebhookWorld, type WireDelivery } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld();
});
after(async () => await world.stop());

const sendTest = async (id: string, eventType?: string) =>
  (await world.ask("SendTestWebhook", { id, eventType })).delivery as WireDelivery;

test("a test of every type arrives signed, marked as a test, and is in the delivery log", async () => {
  const { receiver } = world;
  const webhook = await world.createWebhook({ eventTypes: ["email.bounced"] });
  for (const type of eventTypes) {
    receiver.requests.length = 0;
    const delivery = await sendTest(webhook.id, type);
    assert.deepEqual(
      [delivery.status, delivery.attempts, delivery.responseStatus, delivery.cursor, delivery.eventType],
      ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 1, 200, "", type],
    );
    const [request] = receiver.requests;
    assert.ok(verifies(request!, webhook.secret), type);
    assert.equal(request!.body, delivery.payload);
    assert.equal(request!.event.type, type);
    assert.equal(request!.event.metadata.posthornTest, "true");
    assert.equal(request!.event.emailId !== "", type.startsWith("email."), type);
    const payload = request!.event[type.replace(/^email\./, "").replace(/\.(.)/, (_, c) => c.toUpperCase())];
    assert.equal(typeof payload, "object", type);
  }
  const log = await world.deliveries(webhook.id);
  assert.equal(log.length, eventTypes.length);
  assert.equal(log[0]!.payload, receiver.requests[0]!.body, "the log shows the same again");
  assert.deepEqual(await world.events(), [], "no event of the workspace");
  const again = await world.call("WebhookService/RedeliverWebhook", { webhookId: webhook.id, deliveryId: log[0]!.id });
  assert.equal(again.body.code, "failed_precondition");
});

test("what the endpoint answers is told, and counts neither for nor against it", async () => {
  const { receiver } = world;
  const webhook = await world.createWebhook({ url: `${receiver.url}/broken` });
  receiver.script = () => ({ status: 410, body: "gone fishing" });
  const refused = await sendTest(webhook.id);
  assert.deepEqual([refused.status, refused.responseStatus], ["WEBHOOK_DELIVERY_STATUS_FAILED", 410]);
  assert.match(refused.error, /answered 410/);
  assert.match(refused.responseHead, /gone fishing$/);
  assert.equal(receiver.at("/broken").length, 1, "tried once");
  const { status, failingSince } = await world.getWebhook(webhook.id);
  assert.deepEqual([status, failingSince], ["WEBHOOK_STATUS_ENABLED", undefined]);

  const { body } = await world.call("WebhookService/SendTestWebhook", { id: webhook.id, eventType: "email.eaten" });
  assert.equal(body.code, "invalid_argument");
  assert.equal(violationsOf(body)[0]!.field, "eventType");
});

test("a disabled webhook can be tested before it is enabled again", async () => {
  world.receiver.script = () => 200;
  const webhook = await world.createWebhook();
  await world.ask("UpdateWebhook", { id: webhook.id, enabled: false });
  assert.equal((await sendTest(webhook.id)).status, "WEBHOOK_DELIVERY_STATUS_DELIVERED");
});
