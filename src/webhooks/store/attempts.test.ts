/** The attempts of a delivery: which statements write them, and that they go with their delivery. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { addEvents, addWebhook, follow } from "../../../test/harness/webhooks.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { createPartitions, listPartitions, partitionAt } from "../../postgres/partitions.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { disableAfterMs } from "../rules/retry.ts";
import { listAttempts } from "./attempts.ts";
import { dropWaiting, type LeasedDelivery, leaseDeliveries } from "./lease.ts";
import { bytesOf, createWebhookSettler, settleDeliveries, type WebhookSettlement } from "./settle.ts";
import { deleteWebhook } from "./webhooks.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

function settlement(row: LeasedDelivery, extra: Partial<WebhookSettlement>): WebhookSettlement {
  const { workspaceId, webhookId, id, lease } = row;
  return {
    workspaceId,
    webhookId,
    id,
    lease,
    status: "queued",
    dueInMs: 0,
    attempts: row.attempts + 1,
    responseStatus: 500,
    responseHead: "",
    durationMs: 12,
    error: "the endpoint answered 500",
    exchange: {
      url: row.signer.url,
      requestHeaders: `webhook-id: evt_${row.attempts + 1}`,
      responseHeaders: "HTTP/1.1 500 Oops",
      responseBody: "later",
    },
    endpoint: "failed",
    eventId: makeUuid(Date.now()),
    ...extra,
  };
}

/** A webhook with one delivery, and a function that leases it. */
async function oneDelivery() {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const webhook = await addWebhook(sql, workspaceId);
  const worker = await registerWorker(sql, { host: "h", pid: 1, roles: ["webhooks"], version: "t" });
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  const lease = async (number: number) =>
    (await leaseDeliveries(sql, makeLease(worker, number), [{ workspaceId, webhookId: webhook.id, quota: 1 }]))[0]!;
  return { sql, workspaceId, webhook, lease };
}

test("each settled attempt is kept, newest first, and one whose lease was lost is not", async () => {
  const { sql, workspaceId, webhook, lease } = await oneDelivery();
  const first = await lease(1);
  await settleDeliveries(sql, [settlement(first, {})], { disableAfterMs });
  const second = await lease(2);
  const done = { status: "delivered", dueInMs: undefined, responseStatus: 200, error: "", endpoint: "worked" } as const;
  await settleDeliveries(sql, [settlement(second, done)], { disableAfterMs });
  const late = await settleDeliveries(sql, [settlement(second, {})], { disableAfterMs });
  assert.equal(late.results[0]!.settled, false);

  const at = { workspaceId, webhookId: webhook.id, deliveryId: first.id };
  const kept = await listAttempts(sql, { ...at, before: undefined, limit: 10 });
  assert.deepEqual(
    kept.map(({ number, responseStatus, requestHeaders, responseBody, error, url }) => [
      number,
      responseStatus,
      requestHeaders,
      responseBody,
      error,
      url,
    ]),
    [
      [2, 200, "webhook-id: evt_2", "later", "", webhook.url],
      [1, 500, "webhook-id: evt_1", "later", "the endpoint answered 500", webhook.url],
    ],
  );
  assert.ok(kept[0]!.attemptedAt >= kept[1]!.attemptedAt);
  const numbers = async (before: number | undefined, limit: number) =>
    (await listAttempts(sql, { ...at, before, limit })).map(({ number }) => number);
  assert.deepEqual([await numbers(undefined, 1), await numbers(2, 9), await numbers(1, 9)], [[2], [1], []]);
  assert.deepEqual(
    await listAttempts(sql, { ...at, workspaceId: await makeWorkspace(sql), before: undefined, limit: 10 }),
    [],
  );
});

test("the waiting deliveries of a deleted webhook are deleted with their attempts", async () => {
  const { sql, workspaceId, webhook, lease } = await oneDelivery();
  await settleDeliveries(sql, [settlement(await lease(1), { dueInMs: 3_600_000 })], { disableAfterMs });
  const kept = async () => (await sql`select 1 from webhook_attempts where workspace_id = ${workspaceId}`).length;
  const queue = { workspaceId, webhookId: webhook.id, limit: 10 };
  await dropWaiting(sql, queue);
  assert.equal(await kept(), 1, "an enabled webhook keeps its attempts");
  await deleteWebhook(sql, workspaceId, webhook.id);
  assert.equal(await dropWaiting(sql, queue), 1);
  assert.equal(await kept(), 0);
});

test("an attempt whose partition is missing creates it and is settled", async () => {
  const { sql, lease, workspaceId } = await oneDelivery();
  const row = await lease(1);
  const week = 7 * 86_400_000;
  const { name } = partitionAt("webhook_attempts", Math.floor(Date.now() / week) * week);
  await sql.unsafe(`drop table ${name}`);
  const settler = createWebhookSettler(sql, { disableAfterMs, onDisabled() {}, onRead() {} });
  const item = settlement(row, {});
  assert.equal((await settler.add(item, bytesOf(item))).settled, true);
  assert.equal((await sql`select 1 from webhook_attempts where workspace_id = ${workspaceId}`).length, 1);
});

test("a delivery that is older than the table of attempts gets a partition for them", async () => {
  const { sql } = database;
  const old = partitionAt(
    "webhook_deliveries",
    Math.floor(Date.now() / (7 * 86_400_000)) * 7 * 86_400_000 - 28 * 86_400_000,
  );
  await sql.unsafe(
    `create table ${old.name} partition of webhook_deliveries for values from ('${old.from}') to ('${old.to}')`,
  );
  await createPartitions(sql, Date.now());
  const names = (await listPartitions(sql)).map(({ name }) => name);
  assert.ok(names.includes(partitionAt("webhook_attempts", old.startMs).name));
});
