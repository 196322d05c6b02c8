import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, typesOf, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed.stop());

test("a webhook gets the event types it subscribes to, and all of them after it subscribes to all", async () => {
  const { receiver } = testbed;
  testbed.dns.set("nomail.test", "MX", "0 .");
  const bounces = await testbed.createWebhook({ url: `${receiver.url}/bounces`, eventTypes: ["email.bounced"] });
  const all = await testbed.createWebhook({ url: `${receiver.url}/all`, eventTypes: ["*"] });
  assert.deepEqual(all.eventTypes, []);

  await accepted(testbed, { to: ["a@there.test"] });
  await receiver.until("the delivered event", () => receiver.at("/all").length === 1);
  await accepted(testbed, { to: ["a@nomail.test"] });
  await receiver.until(
    "the bounce at both",
    () => receiver.at("/all").length === 2 && receiver.at("/bounces").length === 1,
  );
  assert.deepEqual(typesOf(receiver.at("/all")), ["email.delivered", "email.bounced"]);
  assert.deepEqual(typesOf(receiver.at("/bounces")), ["email.bounced"]);
  assert.equal((await testbed.deliveries(bounces.id)).length, 1, "an event of another type creates no delivery");

  const updated = await testbed.ask("UpdateWebhook", { id: bounces.id, eventTypes: ["*"] });
  assert.deepEqual((updated.webhook as { eventTypes: string[] }).eventTypes, []);
  await accepted(testbed, { to: ["b@there.test"] });
  await receiver.until("the delivered event at both", () => receiver.at("/bounces").length === 2);
  assert.deepEqual(typesOf(receiver.at("/bounces")), ["email.bounced", "email.delivered"]);
});
