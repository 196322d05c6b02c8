import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, type WebhookTestbed } from "../harness/webhook-testbed.ts";
import { addManyEvents } from "../harness/webhooks.ts";

const events = 400;

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed();
});
after(async () => await testbed.stop());

test("nodes share the work: each event is posted once, by one of the nodes", async () => {
  const { receiver, database } = testbed;
  const nodes = [
    await testbed.startNode({ POSTHORN_ROLES: "webhooks,api" }),
    await testbed.startNode({ POSTHORN_ROLES: "api" }),
    testbed.program,
  ];
  await Promise.all(["/1", "/2"].map((path) => testbed.createWebhook({ url: receiver.url + path })));
  for (let i = 0; i < 4; i++) await addManyEvents(database.sql, testbed.workspaceId, events / 4, "email.delivered");
  await receiver.until("every event at both endpoints", ({ requests }) => requests.length >= events * 2);
  const queued = () => database.sql`select 1 from webhook_deliveries where status = 'queued' limit 1`;
  await until("an empty queue", async () => (await queued()).length === 0);
  for (const path of ["/1", "/2"]) {
    assert.equal(receiver.at(path).length, events);
    assert.equal(new Set(receiver.at(path).map(({ event }) => event.id)).size, events);
  }
  const counts = await Promise.all(nodes.map(({ opsUrl }) => attemptsOf(opsUrl)));
  assert.equal(counts[1], 0, "a node without the role posts nothing");
  assert.equal(counts[0]! + counts[2]!, events * 2, "the metric counts every attempt");
});

async function attemptsOf(opsUrl: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^posthorn_webhook_attempts_total\{outcome="delivered"\} (\d+)$/m.exec(text)?.[1] ?? 0);
}
