import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, violationsOf } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import { startWebhookWorld, type WebhookWorld, type WireDelivery, type WireWebhook } from "../harness/webhook-world.ts";
import { createKey } from "../harness/workspaces.ts";

let world: WebhookWorld;
before(async () => {
  world = await startWebhookWorld({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "600000" } });
});
after(async () => await world.stop());

test("a webhook is made, shown, listed, changed and deleted; its secret is shown once", async () => {
  const made = await world.createWebhook({
    ...{ url: `${world.receiver.url}/a#part`, description: " Billing ", eventTypes: ["email.sent", "email.sent"] },
  });
  assert.match(made.id, /^wh_/);
  assert.deepEqual(
    [made.url, made.description, made.eventTypes, made.status],
    [`${world.receiver.url}/a`, "Billing", ["email.sent"], "WEBHOOK_STATUS_ENABLED"],
  );
  const { secret, ...shown } = made;
  assert.deepEqual(await world.getWebhook(made.id), shown);
  assert.ok(!JSON.stringify(await world.ask("ListWebhooks", {})).includes(secret.slice(6)));

  const changed = (await world.ask("UpdateWebhook", { id: made.id, url: `${world.receiver.url}/b`, description: "" }))
    .webhook as WireWebhook;
  assert.deepEqual(
    [changed.url, changed.description, changed.eventTypes],
    [`${world.receiver.url}/b`, "", ["email.sent"]],
  );
  const { message } = await world.ask("DeleteWebhook", { id: made.id });
  assert.match(message as string, /\/b is deleted/);
  for (const method of ["GetWebhook", "DeleteWebhook", "UpdateWebhook", "RotateWebhookSecret", "SendTestWebhook"])
    assert.equal((await world.call(`WebhookService/${method}`, { id: made.id })).body.code, "not_found", method);
});

test("everything that is wrong is told at once, by field", async () => {
  const { body } = await world.call("WebhookService/CreateWebhook", {
    url: "gopher://x",
    eventTypes: ["email.sent", "email.eaten", "*"],
    description: "x".repeat(501),
  });
  assert.equal(body.code, "invalid_argument");
  assert.deepEqual(
    violationsOf(body).map(({ field }) => field),
    ["url", "eventTypes[1]", "eventTypes[2]", "description"],
  );
  assert.match(violationsOf(body)[1]!.description, /there are email\.sent, email\.delivered/);
  for (const method of ["GetWebhook", "UpdateWebhook", "DeleteWebhook", "RotateWebhookSecret", "SendTestWebhook"]) {
    const { body } = await world.call(`WebhookService/${method}`, {});
    assert.deepEqual([body.code, violationsOf(body)[0]?.field], ["invalid_argument", "id"], method);
  }
});

test("webhooks and deliveries come page by page, newest first; keys that only read see no contents", async () => {
  const { receiver } = world;
  const ids = [];
  for (const path of ["/1", "/2", "/3"]) ids.unshift((await world.createWebhook({ url: receiver.url + path })).id);
  const first = await world.ask("ListWebhooks", { pageSize: 2 });
  const second = await world.ask("ListWebhooks", { pageSize: 2, pageToken: first.nextPageToken });
  const idsOf = (body: Record<string, unknown>) => (body.data as { id: string }[]).map(({ id }) => id);
  assert.deepEqual([...idsOf(first), ...idsOf(second)], ids);
  assert.equal(second.nextPageToken, "");

  const [webhookId] = ids;
  for (let i = 0; i < 3; i++) await accepted(world, { to: [`p${i}@there.test`] });
  await world.untilDeliveries("three", webhookId!, (all) => all.length === 3 && all.every((one) => one.settledAt));
  const page = await world.ask("ListWebhookDeliveries", { webhookId, pageSize: 2 });
  const rest = await world.ask("ListWebhookDeliveries", { webhookId, pageSize: 2, pageToken: page.nextPageToken });
  const cursors = [page, rest].flatMap((body) => (body.data as WireDelivery[]).map(({ cursor }) => cursor));
  assert.deepEqual(cursors, ["3", "2", "1"]);
  const status = "WEBHOOK_DELIVERY_STATUS_FAILED";
  assert.deepEqual((await world.ask("ListWebhookDeliveries", { webhookId, status })).data, []);

  const { secret: reader } = await createKey(world.program, { permission: "READ" });
  const { body } = await world.call("WebhookService/ListWebhookDeliveries", { webhookId }, { key: reader });
  for (const { payload, eventId } of body.data as WireDelivery[]) assert.ok(payload === "" && eventId !== "");
});

test("a workspace has at most fifty webhooks", async () => {
  const answers = await Promise.all(
    Array.from({ length: 60 }, () => world.call("WebhookService/CreateWebhook", { url: "https://93.184.215.14/" })),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(refused.length, 13, "three there are already");
  assert.ok(
    refused.every(({ body }) => body.code === "resource_exhausted" && /50 webhooks/.test(body.message as string)),
  );
});

test("what waits for a deleted webhook goes with it", async () => {
  const { sql } = world.database;
  await sql`delete from webhooks`;
  world.receiver.script = () => 500;
  const webhook = await world.createWebhook({ url: `${world.receiver.url}/leaving` });
  await accepted(world, {});
  await world.untilDeliveries("a failure", webhook.id, ([one]) => one?.attempts === 1);
  await world.ask("DeleteWebhook", { id: webhook.id });
  await until(
    "an empty queue",
    async () => (await sql`select 1 from webhook_deliveries where status = 'queued'`).length === 0,
  );
});
