import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, violationsOf } from "../harness/sending.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed, type WireWebhook } from "../harness/webhook-testbed.ts";

let testbed: WebhookTestbed;
let webhook: WireWebhook & { secret: string };
before(async () => {
  testbed = await startWebhookTestbed();
  testbed.dns.set("nomail.test", "MX", "0 .");
  webhook = await testbed.createWebhook();
  for (const to of ["a@there.test", "b@nomail.test", "c@there.test", "d@there.test"]) {
    const before = testbed.receiver.requests.length;
    await accepted(testbed, { to: [to] });
    await testbed.receiver.until("its event", ({ requests }) => requests.length === before + 1);
  }
  await testbed.untilDeliveries(
    "all settled",
    webhook.id,
    (all) => all.length === 4 && all.every((one) => one.settledAt),
  );
});
after(async () => await testbed.stop());

const redeliver = (request: Record<string, unknown>) =>
  testbed.call("WebhookService/RedeliverWebhook", { webhookId: webhook.id, ...request });

test("a range of cursors is posted again with the same event ids, as new deliveries in the log", async () => {
  const { receiver } = testbed;
  receiver.requests.length = 0;
  const { body } = await redeliver({ fromCursor: "2", toCursor: "4" });
  assert.equal(body.scheduled, 3);
  assert.match(body.message as string, /3 events are due now/);
  await receiver.until("three requests", ({ requests }) => requests.length === 3);
  const events = await testbed.events();
  assert.deepEqual(
    receiver.requests.map(({ headers }) => headers["webhook-id"]).sort(),
    events
      .slice(1)
      .map(({ event }) => event.id)
      .sort(),
  );
  for (const request of receiver.requests) assert.ok(verifies(request, webhook.secret));
  assert.equal((await testbed.deliveries(webhook.id)).length, 7);
});

test("a range is filtered by the webhook's event types; a single delivery by its id is not", async () => {
  const { receiver } = testbed;
  await testbed.ask("UpdateWebhook", { id: webhook.id, eventTypes: ["email.bounced"] });
  receiver.requests.length = 0;
  assert.equal((await redeliver({ fromCursor: "1", toCursor: "4" })).body.scheduled, 1);
  await receiver.until("the bounce", ({ requests }) => requests.length === 1);
  assert.equal(receiver.requests[0]!.event.type, "email.bounced");
  assert.equal((await redeliver({ fromCursor: "1", toCursor: "1" })).body.scheduled, 0);

  const first = (await testbed.deliveries(webhook.id)).at(-1)!;
  assert.equal(first.cursor, "1");
  assert.equal((await redeliver({ deliveryId: first.id })).body.scheduled, 1);
  await receiver.until("the delivered one", ({ requests }) => requests.length === 2);
  assert.equal(receiver.requests[1]!.event.id, first.eventId);
  const twice = await testbed.deliveries(webhook.id, { eventId: first.eventId });
  assert.equal(twice.length, 2);
});

const invalidRequests: [Record<string, unknown>, string, string?][] = [
  [{}, "invalid_argument", "deliveryId"],
  [{ deliveryId: "whd_1", fromCursor: "1", toCursor: "2" }, "invalid_argument", "deliveryId"],
  [{ fromCursor: "1" }, "invalid_argument", "toCursor"],
  [{ fromCursor: "x", toCursor: "2" }, "invalid_argument", "fromCursor"],
  [{ fromCursor: "0", toCursor: "2" }, "invalid_argument", "fromCursor"],
  [{ fromCursor: "3", toCursor: "2" }, "invalid_argument", "toCursor"],
  [{ fromCursor: "1", toCursor: "10001" }, "invalid_argument", "toCursor"],
  [{ fromCursor: "1", toCursor: "999" }, "out_of_range"],
  [{ deliveryId: "whd_00000000-0000-0000-0000-000000000000" }, "not_found"],
];
for (const [request, code, field] of invalidRequests) {
  test(`${JSON.stringify(request)} is ${code}`, async () => {
    const { body } = await redeliver(request);
    assert.equal(body.code, code, JSON.stringify(body));
    assert.deepEqual(
      violationsOf(body).map((violation) => violation.field),
      field ? [field] : [],
    );
  });
}
