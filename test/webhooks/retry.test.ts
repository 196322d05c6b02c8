import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed.stop());

test("a delivery that gets 500 is retried with the same id and body until the endpoint accepts it", async () => {
  const { receiver } = testbed;
  receiver.script = ({ seen }) => (seen <= 2 ? { status: 500, body: "not now" } : 204);
  const webhook = await testbed.createWebhook();
  await accepted(testbed, {});
  const [delivery] = await testbed.untilDeliveries("the delivery", webhook.id, ([one]) => one?.settledAt !== undefined);
  assert.deepEqual(
    [delivery!.status, delivery!.attempts, delivery!.responseStatus, delivery!.error],
    ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 3, 204, ""],
  );
  assert.equal(receiver.requests.length, 3);
  const [first] = receiver.requests;
  for (const request of receiver.requests) {
    assert.equal(request.headers["webhook-id"], first!.headers["webhook-id"]);
    assert.equal(request.body, first!.body);
    assert.ok(verifies(request, webhook.secret), "each attempt is signed with its own timestamp");
  }
  assert.equal((await testbed.getWebhook(webhook.id)).failingSince, undefined);
});

test("the delivery log shows the last error, and the delivery fails after the last attempt", async () => {
  const { receiver } = testbed;
  await testbed.database.sql`delete from webhooks`;
  receiver.requests.length = 0;
  receiver.script = () => ({ status: 503, headers: { "x-trace": "7" }, body: "down for repairs" });
  const webhook = await testbed.createWebhook();
  await accepted(testbed, {});
  const failed = await testbed.untilDeliveries(
    "the delivery to be settled",
    webhook.id,
    ([one]) => one?.settledAt !== undefined,
  );
  assert.equal(failed.length, 1);
  const { status, attempts, responseStatus, error, responseHead, nextAttemptAt, lastAttemptAt } = failed[0]!;
  assert.deepEqual(
    { status, attempts, responseStatus, error, nextAttemptAt },
    {
      status: "WEBHOOK_DELIVERY_STATUS_FAILED",
      attempts: 4,
      responseStatus: 503,
      error: "the endpoint answered 503",
      nextAttemptAt: undefined,
    },
  );
  assert.match(responseHead, /^HTTP\/1\.1 503 Service Unavailable\nx-trace: 7\n[\s\S]*\n\ndown for repairs$/);
  assert.ok(lastAttemptAt);
  assert.equal(receiver.requests.length, 4, "three retries after the first attempt");
  const after = await testbed.getWebhook(webhook.id);
  assert.equal(after.status, "WEBHOOK_STATUS_ENABLED");
  assert.ok(after.failingSince);
});
