import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReceiver } from "../harness/receiver.ts";
import { accepted } from "../harness/sending.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "10,10" } });
});
after(async () => await world.stop());

test("a redirect is a failure and is never followed, inward least of all", async () => {
  const { receiver } = world;
  const inside = await startReceiver({ host: "127.0.0.2" });
  try {
    const places = [`${inside.url}/admin`, "http://169.254.169.254/latest/meta-data/", `${receiver.url}/elsewhere`];
    const statuses = [302, 307, 308];
    receiver.script = ({ path, seen }) =>
      path === "/hook" ? { status: statuses[seen - 1]!, headers: { location: places[seen - 1]! } } : 200;
    const webhook = await world.createWebhook();
    await accepted(world, {});
    const [failed] = await world.untilDeliveries("the end", webhook.id, ([one]) => one?.settledAt !== undefined);
    assert.equal(failed!.status, "WEBHOOK_DELIVERY_STATUS_FAILED");
    assert.match(failed!.error, /answered 308, a redirect to .*\/elsewhere.*Redirects are not followed/);
    assert.equal(receiver.at("/hook").length, 3);
    assert.equal(receiver.at("/elsewhere").length, 0);
    assert.equal(inside.connections.opened, 0, "nobody connected inward");
  } finally {
    await inside.close();
  }
});
