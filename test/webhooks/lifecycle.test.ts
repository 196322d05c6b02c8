import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accepted, violationsOf } from "../harness/sending.ts";
import { until } from "../harness/wait.ts";
import {
  startWebhookTestbed,
  type WebhookTestbed,
  type WireDelivery,
  type WireWebhook,
} from "../harness/webhook-testbed.ts";
import { createKey } from "../harness/workspaces.ts";

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_WEBHOOK_SCHEDULE_MS: "600000" } });
});
after(async () => await testbed.stop());

test("a webhook is created, read, listed, updated and deleted; its secret is returned once", async () => {
  const created = await testbed.createWebhook({
    url: `${testbed.receiver.url}/a#part`,
    description: " Billing ",
    eventTypes: ["email.sent", "email.sent"],
  });
  assert.match(created.id, /^wh_/);
  assert.deepEqual(
    [created.url, created.description, created.eventTypes, created.status],
    [`${testbed.receiver.url}/a`, "Billing", ["email.sent"], "WEBHOOK_STATUS_ENABLED"],
  );
  const { secret, ...withoutSecret } = created;
  assert.deepEqual(await testbed.getWebhook(created.id), withoutSecret);
  assert.ok(!JSON.stringify(await testbed.ask("ListWebhooks", {})).includes(secret.slice(6)));

  const updated = (
    await testbed.ask("UpdateWebhook", { id: created.id, url: `${testbed.receiver.url}/b`, description: "" })
  ).webhook as WireWebhook;
  assert.deepEqual(
    [updated.url, updated.description, updated.eventTypes],
    [`${testbed.receiver.url}/b`, "", ["email.sent"]],
  );
  const { message } = await testbed.ask("DeleteWebhook", { id: created.id });
  assert.match(message as string, /\/b is deleted/);
  for (const method of ["GetWebhook", "DeleteWebhook", "UpdateWebhook", "RotateWebhookSecret", "SendTestWebhook"])
    assert.equal((await testbed.call(`WebhookService/${method}`, { id: created.id })).body.code, "not_found", method);
});

test("one error reports all invalid fields", async () => {
  const { body } = await testbed.call("WebhookService/CreateWebhook", {
    url: "gopher://x",
    eventTypes: ["email.sent", "email.eaten", "*"],
    description: "x".repeat(501),
  });
  assert.equal(body.code, "invalid_argument");
  assert.deepEqual(
    violationsOf(body).map(({ field }) => field),
    ["url", "eventTypes[1]", "eventTypes[2]", "description"],
  );
  assert.match(violationsOf(body)[1]!.description, /use one of email\.sent, email\.delivered/);
  for (const method of ["GetWebhook", "UpdateWebhook", "DeleteWebhook", "RotateWebhookSecret", "SendTestWebhook"]) {
    const { body } = await testbed.call(`WebhookService/${method}`, {});
    assert.deepEqual([body.code, violationsOf(body)[0]?.field], ["invalid_argument", "id"], method);
  }
});

test("webhooks and deliveries are listed in pages, newest first, and a read key sees no payloads", async () => {
  const { receiver } = testbed;
  const ids = [];
  for (const path of ["/1", "/2", "/3"]) ids.unshift((await testbed.createWebhook({ url: receiver.url + path })).id);
  const first = await testbed.ask("ListWebhooks", { pageSize: 2 });
  const second = await testbed.ask("ListWebhooks", { pageSize: 2, pageToken: first.nextPageToken });
  const idsOf = (body: Record<string, unknown>) => (body.data as { id: string }[]).map(({ id }) => id);
  assert.deepEqual([...idsOf(first), ...idsOf(second)], ids);
  assert.equal(second.nextPageToken, "");

  const [webhookId] = ids;
  for (let i = 0; i < 3; i++) await accepted(testbed, { to: [`p${i}@there.test`] });
  await testbed.untilDeliveries("three", webhookId!, (all) => all.length === 3 && all.every((one) => one.settledAt));
  const page = await testbed.ask("ListWebhookDeliveries", { webhookId, pageSize: 2 });
  const rest = await testbed.ask("ListWebhookDeliveries", { webhookId, pageSize: 2, pageToken: page.nextPageToken });
  const cursors = [page, rest].flatMap((body) => (body.data as WireDelivery[]).map(({ cursor }) => cursor));
  assert.deepEqual(cursors, ["3", "2", "1"]);
  const status = "WEBHOOK_DELIVERY_STATUS_FAILED";
  assert.deepEqual((await testbed.ask("ListWebhookDeliveries", { webhookId, status })).data, []);

  const { secret: readKey } = await createKey(testbed.program, { permission: "READ" });
  const { body } = await testbed.call("WebhookService/ListWebhookDeliveries", { webhookId }, { key: readKey });
  for (const { payload, eventId } of body.data as WireDelivery[]) assert.ok(payload === "" && eventId !== "");
});

test("a workspace has at most fifty webhooks", async () => {
  const create = () => testbed.call("WebhookService/CreateWebhook", { url: "https://93.184.215.14/" });
  const responses: Awaited<ReturnType<typeof create>>[] = [];
  // The calls of the last round reach the limit at the same time.
  for (let i = 0; i < 4; i++) responses.push(...(await Promise.all(Array.from({ length: 15 }, create))));
  const rejected = responses.filter(({ status }) => status !== 200);
  const codes = rejected.map(({ body }) => body.code).join(" ");
  assert.equal(rejected.length, 13, `three exist already: ${codes}`);
  assert.ok(
    rejected.every(({ body }) => body.code === "resource_exhausted" && /50 webhooks/.test(body.message as string)),
  );
});

test("deleting a webhook deletes its queued deliveries", async () => {
  const { sql } = testbed.database;
  await sql`delete from webhooks`;
  testbed.receiver.script = () => 500;
  const webhook = await testbed.createWebhook({ url: `${testbed.receiver.url}/leaving` });
  await accepted(testbed, {});
  await testbed.untilDeliveries("a failure", webhook.id, ([one]) => one?.attempts === 1);
  await testbed.ask("DeleteWebhook", { id: webhook.id });
  await until(
    "an empty queue",
    async () => (await sql`select 1 from webhook_deliveries where status = 'queued'`).length === 0,
  );
});
