/** POSTHORN_WEBHOOK_DISABLE_AFTER_MS: a webhook whose deliveries all fail for this long is disabled. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({
    env: {
      POSTHORN_WEBHOOK_DISABLE_AFTER_MS: "2000",
      POSTHORN_WEBHOOK_SCHEDULE_MS: Array.from({ length: 60 }, () => "200").join(","),
    },
  });
});
after(async () => await testbed.stop());

test("a webhook whose deliveries all fail for the configured time is disabled with an event; one success prevents it", async () => {
  const { receiver } = testbed;
  receiver.script = ({ path, seen }) => (path === "/dead" || seen === 1 ? 500 : 200);
  const dead = await testbed.createWebhook({ url: `${receiver.url}/dead`, eventTypes: ["email.delivered"] });
  const flaky = await testbed.createWebhook({ url: `${receiver.url}/flaky` });
  await accepted(testbed, {});

  const events = await testbed.untilEvents("webhook.disabled", (all) =>
    all.some(({ event }) => event.type === "webhook.disabled"),
  );
  assert.equal(events.length, 2);
  const { event } = events[1]!;
  const { webhookDisabled } = event as { webhookDisabled?: Record<string, string> };
  const disabled = await testbed.getWebhook(dead.id);
  assert.equal(disabled.status, "WEBHOOK_STATUS_DISABLED");
  assert.match(
    disabled.disabledReason,
    /every delivery has failed since .* UTC; the last one with: the endpoint answered 500/,
  );
  const { webhookId, url, reason, failingSince } = webhookDisabled!;
  assert.deepEqual({ webhookId, url, reason }, { webhookId: dead.id, url: dead.url, reason: disabled.disabledReason });
  assert.ok(new Date(disabled.disabledAt!).getTime() - new Date(failingSince!).getTime() >= 2000);

  // The flaky webhook also failed at first. It receives the event about the dead one.
  await receiver.until("the event at the other endpoint", () =>
    receiver.at("/flaky").some((request) => request.event.id === event.id && request.seen === 2),
  );
  const settled = await testbed.untilDeliveries("both settled", flaky.id, (all) => all.every((one) => one.settledAt));
  assert.deepEqual(
    settled.map(({ status, attempts }) => [status, attempts]),
    [
      ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 2],
      ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 2],
    ],
  );
  const enabled = await testbed.getWebhook(flaky.id);
  assert.deepEqual([enabled.status, enabled.failingSince], ["WEBHOOK_STATUS_ENABLED", undefined]);
});
