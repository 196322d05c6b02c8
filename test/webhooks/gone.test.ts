/** Disabled webhooks: by a 410 response and by UpdateWebhook. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, typesOf, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed.stop());

test("410 disables a webhook immediately, other webhooks get the event, and after enabling it gets new events", async () => {
  const { receiver } = testbed;
  let gone = true;
  receiver.script = ({ path }) => (path === "/gone" && gone ? 410 : 200);
  const webhook = await testbed.createWebhook({ url: `${receiver.url}/gone` });
  await testbed.createWebhook({ url: `${receiver.url}/witness`, eventTypes: ["webhook.disabled"] });

  await accepted(testbed, {});
  await receiver.until("webhook.disabled at the other webhook", () => receiver.at("/witness").length === 1);
  const { webhookDisabled } = receiver.at("/witness")[0]!.event as { webhookDisabled?: Record<string, unknown> };
  assert.equal(webhookDisabled!.webhookId, webhook.id);
  assert.equal(webhookDisabled!.url, webhook.url);
  assert.match(webhookDisabled!.reason as string, /410/);
  assert.equal("failingSince" in webhookDisabled!, false);

  const disabled = await testbed.getWebhook(webhook.id);
  assert.equal(disabled.status, "WEBHOOK_STATUS_DISABLED");
  assert.match(disabled.disabledReason, /answered 410/);
  assert.ok(disabled.disabledAt);
  const [failed] = await testbed.deliveries(webhook.id);
  assert.deepEqual([failed!.status, failed!.attempts], ["WEBHOOK_DELIVERY_STATUS_FAILED", 1]);

  await accepted(testbed, { to: ["missed@there.test"] });
  await testbed.untilEvents("the event that the disabled webhook misses", (events) => events.length === 3);
  const again = await testbed.call("WebhookService/RedeliverWebhook", {
    webhookId: webhook.id,
    deliveryId: failed!.id,
  });
  assert.equal(again.body.code, "failed_precondition");

  gone = false;
  const enabled = (await testbed.ask("UpdateWebhook", { id: webhook.id, enabled: true })).webhook as typeof disabled;
  assert.deepEqual(
    [enabled.status, enabled.disabledReason, enabled.disabledAt],
    ["WEBHOOK_STATUS_ENABLED", "", undefined],
  );
  await accepted(testbed, { to: ["posted@there.test"] });
  await receiver.until("the new event", () => receiver.at("/gone").length === 2);
  assert.equal(receiver.at("/gone").length, 2);
  assert.deepEqual(typesOf(receiver.at("/gone")), ["email.delivered", "email.delivered"]);
  const posted = receiver.at("/gone")[1]!.event as { delivered?: { recipients: string[] } };
  assert.deepEqual(posted.delivered!.recipients, ["posted@there.test"]);

  // RedeliverWebhook posts the missed event by its cursor range.
  const { scheduled } = await testbed.ask("RedeliverWebhook", {
    webhookId: webhook.id,
    fromCursor: "3",
    toCursor: "3",
  });
  assert.equal(scheduled, 1);
  await receiver.until("the missed event", () => receiver.at("/gone").length === 3);
});

test("a webhook disabled by UpdateWebhook posts nothing, creates no event, and fails its queued deliveries", async () => {
  const { receiver } = testbed;
  await testbed.database.sql`delete from webhooks`;
  receiver.requests.length = 0;
  receiver.script = () => 500;
  const webhook = await testbed.createWebhook({ url: `${receiver.url}/off` });
  await accepted(testbed, {});
  await receiver.until("an attempt", () => receiver.at("/off").length >= 1);
  await testbed.ask("UpdateWebhook", { id: webhook.id, enabled: false });
  const [failed] = await testbed.untilDeliveries(
    "the queued delivery to be settled",
    webhook.id,
    ([one]) => one?.settledAt !== undefined,
  );
  assert.equal(failed!.status, "WEBHOOK_DELIVERY_STATUS_FAILED");
  const disabled = await testbed.getWebhook(webhook.id);
  assert.deepEqual(
    [disabled.status, disabled.disabledReason],
    ["WEBHOOK_STATUS_DISABLED", "disabled by UpdateWebhook"],
  );
  const disabledEvents = (await testbed.events()).filter(({ event }) => event.type === "webhook.disabled");
  assert.equal(disabledEvents.length, 1, "only the event of the previous test");
});
