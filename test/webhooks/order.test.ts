import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, untilEvent } from "../harness/sending.ts";
import { greylist } from "../harness/sink-script.ts";
import { startWebhookTestbed, typesOf, type WebhookTestbed } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ sink: { script: greylist(1) }, env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "1500" } });
});
after(async () => await testbed.stop());

test("events of one email are posted in order; while one is in progress the next waits, and other emails do not", async () => {
  const { receiver } = testbed;
  const response = Promise.withResolvers<void>();
  let firstEmailId: string | undefined;
  receiver.script = async ({ event, seen }) => {
    firstEmailId ??= event.emailId;
    if (event.emailId !== firstEmailId || event.type !== "email.delayed" || seen > 1) return 200;
    await response.promise;
    return 500;
  };
  await testbed.createWebhook();
  const first = await accepted(testbed, { to: ["first@there.test"] });
  await receiver.until("its first event", ({ requests }) => requests.length === 1);
  await untilEvent(testbed, first, "email.delivered");
  const other = await accepted(testbed, { to: ["other@other.test"] });
  const requestsFor = (emailId: string) => receiver.requests.filter(({ event }) => event.emailId === emailId);
  await receiver.until("both events of the other email", () => requestsFor(other).length === 2);
  assert.deepEqual(typesOf(requestsFor(other)), ["email.delayed", "email.delivered"]);
  assert.deepEqual(typesOf(requestsFor(first)), ["email.delayed"], "the second event waits for the first");

  response.resolve();
  await receiver.until("the rest", () => requestsFor(first).length === 3);
  assert.deepEqual(
    typesOf(requestsFor(first)),
    ["email.delayed", "email.delivered", "email.delayed"],
    "after a failure the next event is posted, and the failed one is retried",
  );
});
