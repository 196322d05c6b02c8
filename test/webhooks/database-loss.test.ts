/** The database connection breaks repeatedly while events are posted: no event is lost, and no lease is left behind. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DatabaseProxy, startDatabaseProxy } from "../harness/database-proxy.ts";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";
import { addManyEvents } from "../harness/webhooks.ts";

const events = 600;
const cuts = 8;

let testbed: WebhookTestbed;
let proxy: DatabaseProxy;
before(async () => {
  testbed = await startWebhookTestbed();
  proxy = await startDatabaseProxy(testbed.database.url);
});
after(async () => {
  await testbed.stop();
  await proxy.close();
});

test("connections that break during leasing and settling lose no delivery", async () => {
  const { receiver, database } = testbed;
  const webhook = await testbed.createWebhook();
  await testbed.program.stop();
  await addManyEvents(database.sql, testbed.workspaceId, events, "email.delivered");
  const program = await testbed.startNode({ DATABASE_URL: proxy.url });
  for (let cut = 0; cut < cuts; cut++) {
    const before = receiver.requests.length;
    await receiver.until("more requests", ({ requests }) => requests.length >= Math.min(before + 20, events));
    proxy.cut(cut % 2 === 0 ? "reset" : "end");
  }
  await receiver.until("every event", ({ requests }) => new Set(requests.map(({ event }) => event.id)).size === events);
  const unsettled = async () =>
    await database.sql`select 1 from webhook_deliveries where status = 'queued' or attempts = 0 limit 1`;
  await until("an empty queue", async () => (await unsettled()).length === 0);
  assert.equal(new Set(receiver.requests.map(({ event }) => event.id)).size, events);
  const log = await testbed.deliveries(webhook.id);
  assert.equal(log.length, events);
  assert.ok(log.every(({ status }) => status === "WEBHOOK_DELIVERY_STATUS_DELIVERED"));
  assert.equal(await program.stop(), 0);
});
