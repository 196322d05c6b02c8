/** The attempts of a delivery: which statements write them, and that they go with their delivery. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { addEvents, addWebhook } from "../../../test/harness/webhooks.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { createPartitions, listPartitions, partitionAt } from "../../postgres/partitions.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { disableAfterMs } from "../rules/retry.ts";
import { listAttempts } from "./attempts.ts";
import { followLog } from "./follow.ts";
import { type LeasedDelivery, leaseDeliveries } from "./lease.ts";
import { settleDeliveries, type WebhookSettlement } from "./settle.ts";

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

test("each settled attempt is kept, newest first, and one whose lease was lost is not", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const webhook = await addWebhook(sql, workspaceId);
  const worker = await registerWorker(sql, { host: "h", pid: 1, roles: ["webhooks"], version: "t" });
  await addEvents(sql, workspaceId, 1);
  await followLog(sql, { nowMs: Date.now(), webhooks: 20, events: 500 });
  const lease = async (number: number) =>
    (await leaseDeliveries(sql, makeLease(worker, number), [{ workspaceId, webhookId: webhook.id, quota: 1 }]))[0]!;
  const first = await lease(1);
  await settleDeliveries(sql, [settlement(first, {})], disableAfterMs);
  const second = await lease(2);
  const done = { status: "delivered", dueInMs: undefined, responseStatus: 200, error: "", endpoint: "worked" } as const;
  await settleDeliveries(sql, [settlement(second, done)], disableAfterMs);
  const [late] = await settleDeliveries(sql, [settlement(second, {})], disableAfterMs);
  assert.equal(late!.settled, false);

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
