import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReceiver } from "../harness/receiver.ts";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "100,60000" } });
  world.dns.ttl = 0;
});
after(async () => await world.stop());

test("DNS that leads inward after the webhook was saved leads nowhere", async () => {
  const { receiver, dns } = world;
  // The same port at an address that is not opened: only the address can keep a request away from it.
  const trap = await startReceiver({ host: "127.0.0.2", port: receiver.port });
  try {
    dns.set("hooks.test", "A", "127.0.0.1");
    const webhook = await world.createWebhook({ url: `http://hooks.test:${receiver.port}/hook` });
    await accepted(world, {});
    await receiver.until("a delivery while the name is good", ({ requests }) => requests.length === 1);

    dns.set("hooks.test", "A", "127.0.0.2");
    await accepted(world, {});
    const [refused] = await world.untilDeliveries("two attempts", webhook.id, ([one]) => one?.attempts === 2);
    assert.match(refused!.error, /leads to hooks\.test, which is at 127\.0\.0\.2/);
    assert.equal(refused!.responseStatus, 0);
    assert.equal(trap.connections.opened, 0, "not even a connection");

    // Of several addresses only the good one is used.
    dns.set("hooks.test", "A", "127.0.0.2", "127.0.0.1");
    await world.ask("RedeliverWebhook", { webhookId: webhook.id, deliveryId: refused!.id });
    await receiver.until("the delivery to the good address", ({ requests }) => requests.length === 2);
    assert.equal(trap.connections.opened, 0);
  } finally {
    await trap.close();
  }
});
