import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReceiver } from "../harness/receiver.ts";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "10,10" } });
});
after(async () => await testbed.stop());

test("a redirect is a failure and is never followed, neither to a private nor to a public address", async () => {
  const { receiver } = testbed;
  const internal = await startReceiver({ host: "127.0.0.2" });
  try {
    const locations = [
      `${internal.url}/admin`,
      "http://169.254.169.254/latest/meta-data/",
      `${receiver.url}/elsewhere`,
    ];
    const statuses = [302, 307, 308];
    receiver.script = ({ path, seen }) =>
      path === "/hook" ? { status: statuses[seen - 1]!, headers: { location: locations[seen - 1]! } } : 200;
    const webhook = await testbed.createWebhook();
    await accepted(testbed, {});
    const [failed] = await testbed.untilDeliveries(
      "the delivery to be settled",
      webhook.id,
      ([one]) => one?.settledAt !== undefined,
    );
    assert.equal(failed!.status, "WEBHOOK_DELIVERY_STATUS_FAILED");
    assert.match(failed!.error, /answered 308, a redirect to .*\/elsewhere.*Redirects are not followed/);
    assert.equal(receiver.at("/hook").length, 3);
    assert.equal(receiver.at("/elsewhere").length, 0);
    assert.equal(internal.connections.opened, 0, "no connection to the internal server");
  } finally {
    await internal.close();
  }
});
