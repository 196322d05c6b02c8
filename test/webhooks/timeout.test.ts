import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({
    env: { POSTHORN_WEBHOOK_TIMEOUT_MS: "500", POSTHORN_WEBHOOK_SCHEDULE_MS: "60000" },
  });
});
after(async () => await testbed.stop());

for (const reaction of ["hang", "drip-head", "drip-body"] as const) {
  test(`a request to an endpoint that responds with ${reaction} times out, and is retried later`, async () => {
    const { receiver } = testbed;
    const path = `/${reaction}`;
    receiver.script = (request) => (request.path === path && request.seen === 1 ? reaction : 200);
    const webhook = await testbed.createWebhook({ url: receiver.url + path });
    await accepted(testbed, {});
    const [waiting] = await testbed.untilDeliveries("the first attempt", webhook.id, ([one]) => one?.attempts === 1);
    assert.equal(waiting!.status, "WEBHOOK_DELIVERY_STATUS_QUEUED");
    assert.equal(waiting!.error, "no complete response within 0.5 s");
    assert.ok(waiting!.nextAttemptAt);

    await testbed.ask("RedeliverWebhook", { webhookId: webhook.id, deliveryId: waiting!.id });
    const [done] = await testbed.untilDeliveries(
      "the second attempt",
      webhook.id,
      ([one]) => one?.settledAt !== undefined,
    );
    assert.deepEqual([done!.id, done!.status, done!.attempts], [waiting!.id, "WEBHOOK_DELIVERY_STATUS_DELIVERED", 2]);
    assert.equal(receiver.at(path).length, 2);
    await testbed.ask("DeleteWebhook", { id: webhook.id });
  });
}
