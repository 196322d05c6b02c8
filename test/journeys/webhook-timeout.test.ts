import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({
    env: { POSTHORN_WEBHOOK_TIMEOUT_MS: "500", POSTHORN_WEBHOOK_SCHEDULE_MS: "60000" },
  });
});
after(async () => await world.stop());

for (const reaction of ["hang", "drip-head", "drip-body"] as const) {
  test(`an endpoint that answers with ${reaction} is left when its time is up, and asked again later`, async () => {
    const { receiver } = world;
    const path = `/${reaction}`;
    receiver.script = (request) => (request.path === path && request.seen === 1 ? reaction : 200);
    const webhook = await world.createWebhook({ url: receiver.url + path });
    await accepted(world, {});
    const [waiting] = await world.untilDeliveries("the first attempt", webhook.id, ([one]) => one?.attempts === 1);
    assert.equal(waiting!.status, "WEBHOOK_DELIVERY_STATUS_QUEUED");
    assert.equal(waiting!.error, "no whole answer within 0.5 s");
    assert.ok(waiting!.nextAttemptAt);

    await world.ask("RedeliverWebhook", { webhookId: webhook.id, deliveryId: waiting!.id });
    const [done] = await world.untilDeliveries("the second", webhook.id, ([one]) => one?.settledAt !== undefined);
    assert.deepEqual([done!.id, done!.status, done!.attempts], [waiting!.id, "WEBHOOK_DELIVERY_STATUS_DELIVERED", 2]);
    assert.equal(receiver.at(path).length, 2);
    await world.ask("DeleteWebhook", { id: webhook.id });
  });
}
