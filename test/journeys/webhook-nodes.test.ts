import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../harness/wait.ts";
import { startWebhookWorld, type WebhookWorld } from "../harness/webhook-world.ts";
import { addManyEvents } from "../harness/webhooks.ts";

const events = 400;

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld();
});
after(async () => await world.stop());

test("nodes share the work: each event is posted once, whichever node has it", async () => {
  const { receiver, database } = world;
  const nodes = [
    await world.startNode({ POSTHORN_ROLES: "webhooks,api" }),
    await world.startNode({ POSTHORN_ROLES: "api" }),
    world.program,
  ];
  await Promise.all(["/1", "/2"].map((path) => world.createWebhook({ url: receiver.url + path })));
  for (let i = 0; i < 4; i++) await addManyEvents(database.sql, world.workspaceId, events / 4, "email.delivered");
  await receiver.until("every event at both", ({ requests }) => requests.length >= events * 2);
  const open = () => database.sql`select 1 from webhook_deliveries where status = 'queued' limit 1`;
  await until("an empty queue", async () => (await open()).length === 0);
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
