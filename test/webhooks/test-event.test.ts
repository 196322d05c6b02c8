import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventTypes } from "../../src/events/wire.ts";
import { violationsOf } from "../harness/sending.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed, type WireDelivery } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed.stop());

const sendTest = async (id: string, eventType?: string) =>
  (await testbed.ask("SendTestWebhook", { id, eventType })).delivery as WireDelivery;

test("a test event of every type is posted signed, marked as a test, and recorded in the delivery log", async () => {
  const { receiver } = testbed;
  const webhook = await testbed.createWebhook({ eventTypes: ["email.bounced"] });
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
  const log = await testbed.deliveries(webhook.id);
  assert.equal(log.length, eventTypes.length);
  assert.equal(log[0]!.payload, receiver.requests[0]!.body, "the log contains the posted body");
  assert.deepEqual(await testbed.events(), [], "a test event is not in the event log");
  const again = await testbed.call("WebhookService/RedeliverWebhook", {
    webhookId: webhook.id,
    deliveryId: log[0]!.id,
  });
  assert.equal(again.body.code, "failed_precondition");
});

test("the endpoint's response to a test is returned, and does not count as success or failure of the webhook", async () => {
  const { receiver } = testbed;
  const webhook = await testbed.createWebhook({ url: `${receiver.url}/broken` });
  receiver.script = () => ({ status: 410, body: "gone fishing" });
  const failed = await sendTest(webhook.id);
  assert.deepEqual([failed.status, failed.responseStatus], ["WEBHOOK_DELIVERY_STATUS_FAILED", 410]);
  assert.match(failed.error, /answered 410/);
  assert.match(failed.responseHead, /gone fishing$/);
  assert.equal(receiver.at("/broken").length, 1, "no retry");
  const { status, failingSince } = await testbed.getWebhook(webhook.id);
  assert.deepEqual([status, failingSince], ["WEBHOOK_STATUS_ENABLED", undefined]);

  const { body } = await testbed.call("WebhookService/SendTestWebhook", { id: webhook.id, eventType: "email.eaten" });
  assert.equal(body.code, "invalid_argument");
  assert.equal(violationsOf(body)[0]!.field, "eventType");
});

test("a disabled webhook can be tested", async () => {
  testbed.receiver.script = () => 200;
  const webhook = await testbed.createWebhook();
  await testbed.ask("UpdateWebhook", { id: webhook.id, enabled: false });
  assert.equal((await sendTest(webhook.id)).status, "WEBHOOK_DELIVERY_STATUS_DELIVERED");
});
