/** The database goes away again and again while events are posted: none is lost, and none stays in hands that forgot it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DatabaseProxy, startDatabaseProxy } from "../harness/database-proxy.ts";
import { until } from "../harness/wait.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";
import { addManyEvents } from "../harness/webhooks.ts";

const events = 600;
const cuts = 8;

let world: WebhookWorld;
let proxy: DatabaseProxy;
before(async () => {
  world = await startWebhookWorld();
  proxy = await startDatabaseProxy(world.database.url);
});
after(async () => {
  await world.stop();
  await proxy.close();
});

test("connections that break in the middle of leases and settlements lose no delivery", async () => {
  const { receiver, database } = world;
  const webhook = await world.createWebhook();
  await world.program.stop();
  await addManyEvents(database.sql, world.workspaceId, events, "email.delivered");
  const program = await world.startNode({ DATABASE_URL: proxy.url });
  for (let cut = 0; cut < cuts; cut++) {
    const before = receiver.requests.length;
    await receiver.until("some progress", ({ requests }) => requests.length >= Math.min(before + 20, events));
    proxy.cut(cut % 2 === 0 ? "reset" : "end");
  }
  const left = async () =>
    await database.sql`select 1 from webhook_deliveries where status = 'queued' or attempts = 0 limit 1`;
  await until("an empty queue", async () => (await left()).length === 0);
  assert.equal(new Set(receiver.requests.map(({ event }) => event.id)).size, events);
  const log = await world.deliveries(webhook.id);
  assert.equal(log.length, events);
  assert.ok(log.every(({ status }) => status === "WEBHOOK_DELIVERY_STATUS_DELIVERED"));
  assert.equal(await program.stop(), 0);
});
