import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, verifies, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld();
});
after(async () => await world.stop());

test("an endpoint that answers 500 is asked again, with the same id and body, until it takes the event", async () => {
  const { receiver } = world;
  receiver.script = ({ seen }) => (seen <= 2 ? { status: 500, body: "not now" } : 204);
  const webhook = await world.createWebhook();
  await accepted(world, {});
  const [delivery] = await world.untilDeliveries("the delivery", webhook.id, ([one]) => one?.settledAt !== undefined);
  assert.deepEqual(
    [delivery!.status, delivery!.attempts, delivery!.responseStatus, delivery!.error],
    ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 3, 204, ""],
  );
  assert.equal(receiver.requests.length, 3);
  const [first] = receiver.requests;
  for (const request of receiver.requests) {
    assert.equal(request.headers["webhook-id"], first!.headers["webhook-id"]);
    assert.equal(request.body, first!.body);
    assert.ok(verifies(request, webhook.secret), "signed anew, with the time of the attempt");
  }
  assert.equal((await world.getWebhook(webhook.id)).failingSince, undefined);
});

test("while it waits the log tells what went wrong and when it is tried again; after the last attempt it is given up", async () => {
  const { receiver } = world;
  await world.database.sql`delete from webhooks`;
  receiver.requests.length = 0;
  receiver.script = () => ({ status: 503, headers: { "x-trace": "7" }, body: "down for repairs" });
  const webhook = await world.createWebhook();
  await accepted(world, {});
  const failed = await world.untilDeliveries("the end", webhook.id, ([one]) => one?.settledAt !== undefined);
  assert.equal(failed.length, 1);
  const { status, attempts, responseStatus, error, responseHead, nextAttemptAt, lastAttemptAt } = failed[0]!;
  assert.deepEqual(
    { status, attempts, responseStatus, error, nextAttemptAt },
    {
      ...{ status: "WEBHOOK_DELIVERY_STATUS_FAILED", attempts: 4, responseStatus: 503 },
      ...{ error: "the endpoint answered 503", nextAttemptAt: undefined },
    },
  );
  assert.match(responseHead, /^HTTP\/1\.1 503 Service Unavailable\nx-trace: 7\n[\s\S]*\n\ndown for repairs$/);
  assert.ok(lastAttemptAt);
  assert.equal(receiver.requests.length, 4, "three waits make four attempts");
  const after = await world.getWebhook(webhook.id);
  assert.equal(after.status, "WEBHOOK_STATUS_ENABLED");
  assert.ok(after.failingSince);
});
