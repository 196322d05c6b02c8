import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, violationsOf } from "../harness/sending.ts";
import { startWebhookWorld, verifies, type WebhookWorld, type WireWebhook } from "../harness/webhook-world.ts";

let world: WebhookWorld;
let webhook: WireWebhook & { secret: string };
before(async () => {
  world = await startWebhookWorld();
  world.dns.set("nomail.test", "MX", "0 .");
  webhook = await world.createWebhook();
  for (const to of ["a@there.test", "b@nomail.test", "c@there.test", "d@there.test"]) {
    const before = world.receiver.requests.length;
    await accepted(world, { to: [to] });
    await world.receiver.until("its event", ({ requests }) => requests.length === before + 1);
  }
  await world.untilDeliveries(
    "all settled",
    webhook.id,
    (all) => all.length === 4 && all.every((one) => one.settledAt),
  );
});
after(async () => await world.stop());

const redeliver = (request: Record<string, unknown>) =>
  world.call("WebhookService/RedeliverWebhook", { webhookId: webhook.id, ...request });

test("a range of cursors is posted again, under the same ids, beside the first deliveries", async () => {
  const { receiver } = world;
  receiver.requests.length = 0;
  const { body } = await redeliver({ fromCursor: "2", toCursor: "4" });
  assert.equal(body.scheduled, 3);
  assert.match(body.message as string, /3 events are due now/);
  await receiver.until("three requests", ({ requests }) => requests.length === 3);
  const events = await world.events();
  assert.deepEqual(
    receiver.requests.map(({ headers }) => headers["webhook-id"]).sort(),
    events
      .slice(1)
      .map(({ event }) => event.id)
      .sort(),
  );
  for (const request of receiver.requests) assert.ok(verifies(request, webhook.secret));
  assert.equal((await world.deliveries(webhook.id)).length, 7);
});

test("a range is filtered by the types that the webhook takes; one delivery named by its id is not", async () => {
  const { receiver } = world;
  await world.ask("UpdateWebhook", { id: webhook.id, eventTypes: ["email.bounced"] });
  receiver.requests.length = 0;
  assert.equal((await redeliver({ fromCursor: "1", toCursor: "4" })).body.scheduled, 1);
  await receiver.until("the bounce", ({ requests }) => requests.length === 1);
  assert.equal(receiver.requests[0]!.event.type, "email.bounced");
  assert.equal((await redeliver({ fromCursor: "1", toCursor: "1" })).body.scheduled, 0);

  const first = (await world.deliveries(webhook.id)).at(-1)!;
  assert.equal(first.cursor, "1");
  assert.equal((await redeliver({ deliveryId: first.id })).body.scheduled, 1);
  await receiver.until("the delivered one", ({ requests }) => requests.length === 2);
  assert.equal(receiver.requests[1]!.event.id, first.eventId);
  const twice = await world.deliveries(webhook.id, { eventId: first.eventId });
  assert.equal(twice.length, 2);
});

const mistakes: [Record<string, unknown>, string, string?][] = [
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
for (const [request, code, field] of mistakes) {
  test(`${JSON.stringify(request)} is ${code}`, async () => {
    const { body } = await redeliver(request);
    assert.equal(body.code, code, JSON.stringify(body));
    assert.deepEqual(
      violationsOf(body).map((violation) => violation.field),
      field ? [field] : [],
    );
  });
}
