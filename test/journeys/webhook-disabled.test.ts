import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({
    env: {
      POSTHORN_WEBHOOK_DISABLE_AFTER_MS: "2000",
      POSTHORN_WEBHOOK_SCHEDULE_MS: Array.from({ length: 60 }, () => "200").join(","),
    },
  });
});
after(async () => await world.stop());

test("nothing but failures for the set time disables a webhook with an event; one success in between saves it", async () => {
  const { receiver } = world;
  receiver.script = ({ path, seen }) => (path === "/dead" || seen === 1 ? 500 : 200);
  const dead = await world.createWebhook({ url: `${receiver.url}/dead`, eventTypes: ["email.delivered"] });
  const shaky = await world.createWebhook({ url: `${receiver.url}/shaky` });
  await accepted(world, {});

  const events = await world.untilEvents("the disabling", (all) =>
    all.some(({ event }) => event.type === "webhook.disabled"),
  );
  assert.equal(events.length, 2);
  const { event } = events[1]!;
  const { webhookDisabled } = event as { webhookDisabled?: Record<string, string> };
  const off = await world.getWebhook(dead.id);
  assert.equal(off.status, "WEBHOOK_STATUS_DISABLED");
  assert.match(
    off.disabledReason,
    /every delivery has failed since .* UTC; the last one with: the endpoint answered 500/,
  );
  const { webhookId, url, reason, failingSince } = webhookDisabled!;
  assert.deepEqual({ webhookId, url, reason }, { webhookId: dead.id, url: dead.url, reason: off.disabledReason });
  assert.ok(new Date(off.disabledAt!).getTime() - new Date(failingSince!).getTime() >= 2000);

  // It failed too, at first; the event about the other one reaches it like any other.
  await receiver.until("the news at the other endpoint", () =>
    receiver.at("/shaky").some((request) => request.event.id === event.id && request.seen === 2),
  );
  const alive = await world.untilDeliveries("both settled", shaky.id, (all) => all.every((one) => one.settledAt));
  assert.deepEqual(
    alive.map(({ status, attempts }) => [status, attempts]),
    [
      ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 2],
      ["WEBHOOK_DELIVERY_STATUS_DELIVERED", 2],
    ],
  );
  const saved = await world.getWebhook(shaky.id);
  assert.deepEqual([saved.status, saved.failingSince], ["WEBHOOK_STATUS_ENABLED", undefined]);
});
