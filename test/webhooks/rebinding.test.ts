/** DNS rebinding: the address of an endpoint is checked at every attempt. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReceiver } from "../harness/receiver.ts";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "100,60000" } });
  testbed.dns.ttl = 0;
});
after(async () => await testbed.stop());

test("a webhook whose name resolves to a private address after it was saved is not connected to", async () => {
  const { receiver, dns } = testbed;
  // The same port at an address that is not allowed, so that only the address check can stop a request.
  const trap = await startReceiver({ host: "127.0.0.2", port: receiver.port });
  try {
    dns.set("hooks.test", "A", "127.0.0.1");
    const webhook = await testbed.createWebhook({ url: `http://hooks.test:${receiver.port}/hook` });
    await accepted(testbed, {});
    await receiver.until("a delivery while the address is allowed", ({ requests }) => requests.length === 1);

    dns.set("hooks.test", "A", "127.0.0.2");
    await accepted(testbed, {});
    const [failed] = await testbed.untilDeliveries("two attempts", webhook.id, ([one]) => one?.attempts === 2);
    assert.match(failed!.error, /points to hooks\.test; http is allowed only for ranges/);
    assert.doesNotMatch(failed!.error, /127\.0\.0\.2/);
    assert.equal(failed!.responseStatus, 0);
    assert.equal(trap.connections.opened, 0, "no connection is opened");

    // Of several addresses only the allowed one is used.
    dns.set("hooks.test", "A", "127.0.0.2", "127.0.0.1");
    await testbed.ask("RedeliverWebhook", { webhookId: webhook.id, deliveryId: failed!.id });
    await receiver.until("the delivery to the allowed address", ({ requests }) => requests.length === 2);
    assert.equal(trap.connections.opened, 0);
  } finally {
    await trap.close();
  }
});
