/** The queue of webhook deliveries: leases, their order, and what settling does to deliveries, webhooks and the log. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { addEvents, addWebhook } from "../../test/harness/webhooks.ts";
import { disableAfterMs } from "../rules/webhook-retry.ts";
import type { Sql } from "./db.ts";
import { readEvents } from "./events.ts";
import { makeUuid } from "./ids.ts";
import { makeLease } from "./lease.ts";
import { listDeliveries } from "./webhook-deliveries.ts";
import { followLog } from "./webhook-follow.ts";
import {
  dropWaiting,
  findWebhookLanes,
  type LeasedDelivery,
  leaseDeliveries,
  releaseDeliveries,
} from "./webhook-lease.ts";
import { settleDeliveries, type WebhookSettlement } from "./webhook-settle.ts";
import { deleteWebhook, getWebhook, updateWebhook, type Webhook } from "./webhooks.ts";
import { forgetWorker, registerWorker } from "./workers.ts";

let database: TestDatabase;
let sql: Sql;
let workerId: number;
let workspaceId: string;
let webhook: Webhook;
let leases = 0;

before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());
beforeEach(async () => {
  workerId = await newWorker();
  workspaceId = await makeWorkspace(sql);
  webhook = await addWebhook(sql, workspaceId);
});

const newWorker = () => registerWorker(sql, { host: "h", pid: 1, roles: ["webhooks"], version: "t" });
const follow = () => followLog(sql, { nowMs: Date.now(), webhooks: 20, events: 500 });
const lease = (quota = 10, worker = workerId, id = webhook.id) =>
  leaseDeliveries(sql, makeLease(worker, ++leases), [{ workspaceId, webhookId: id, quota }]);
const numbers = (rows: LeasedDelivery[]) => rows.map((row) => Number(row.event?.number));

function settlement(row: LeasedDelivery, extra: Partial<WebhookSettlement> = {}): WebhookSettlement {
  return {
    ...{ workspaceId: row.workspaceId, webhookId: row.webhookId, id: row.id, lease: row.lease },
    ...{
      status: "delivered",
      dueInMs: undefined,
      attempts: row.attempts + 1,
      responseStatus: 200,
      responseHead: "HTTP/1.1 200 OK",
    },
    ...{ durationMs: 12, error: "", endpoint: "worked", eventId: makeUuid(Date.now()), ...extra },
  };
}
const settle = (...items: WebhookSettlement[]) => settleDeliveries(sql, items, disableAfterMs);
const failing = {
  status: "queued",
  dueInMs: 60_000,
  responseStatus: 500,
  error: "the endpoint answered 500",
  endpoint: "failed",
} as const;
const eventTypes = async () =>
  (await readEvents(sql, { workspaceId, after: 0n, limit: 999 })).map((event) => event.type);
const log = () => listDeliveries(sql, { workspaceId, webhookId: webhook.id, before: undefined, limit: 100 });

test("a lease carries the event, the address and the secrets, and is given once", async () => {
  await addEvents(sql, workspaceId, 3);
  await follow();
  const rows = await lease(2);
  assert.deepEqual(numbers(rows), [1, 2]);
  const [row] = rows;
  assert.equal(row!.signer.url, webhook.url);
  assert.equal(row!.signer.sealedSecrets.length, 1);
  assert.deepEqual(row!.event!.metadata, { order: "7" });
  assert.equal(row!.event!.emailId, row!.emailId);
  assert.deepEqual(numbers(await lease()), [3]);
  assert.deepEqual(await lease(), []);
  await releaseDeliveries(sql, rows);
  assert.deepEqual(numbers(await lease()), [1, 2]);
});

test("a worker that is gone gives its leases back; one that lives keeps them", async () => {
  await addEvents(sql, workspaceId, 2);
  await follow();
  const other = await newWorker();
  const lost = await lease(2, other);
  assert.deepEqual(await lease(), []);
  await sql`update workers set seen_at = now() - interval '31 seconds' where id = ${other}`;
  assert.deepEqual(numbers(await lease()), [1, 2]);
  const [settled] = await settle(settlement(lost[0]!));
  assert.equal(settled!.held, false, "whoever was taken for dead settles nothing");
  await forgetWorker(sql, workerId);
  assert.deepEqual(numbers(await lease(10, await newWorker())), [1, 2]);
});

test("an event waits while an earlier one of its email is untried, and no longer", async () => {
  const emailId = makeUuid(Date.now());
  await addEvents(sql, workspaceId, 3, { emailId });
  await addEvents(sql, workspaceId, 1);
  await follow();
  const rows = await lease();
  assert.deepEqual(numbers(rows), [1, 4], "another email does not wait");
  assert.deepEqual(await lease(), []);
  await settle(settlement(rows[0]!, failing));
  const second = await lease();
  assert.deepEqual(numbers(second), [2], "the first was tried, if in vain");
  await settle(settlement(second[0]!));
  assert.deepEqual(numbers(await lease()), [3]);
});

test("webhooks wait for themselves only", async () => {
  const other = await addWebhook(sql, workspaceId);
  const emailId = makeUuid(Date.now());
  await addEvents(sql, workspaceId, 2, { emailId });
  await follow();
  assert.deepEqual(numbers(await lease()), [1]);
  assert.deepEqual(numbers(await lease(10, workerId, other.id)), [1]);
});

test("settling writes what was seen; a failure comes back when it is due", async () => {
  await addEvents(sql, workspaceId, 2);
  await follow();
  const [one, two] = await lease();
  assert.deepEqual(await settle(settlement(one!), settlement(two!, failing)), [
    { held: true, disabled: false },
    { held: true, disabled: false },
  ]);
  const [second, first] = await log();
  assert.deepEqual(
    [first!.status, first!.attempts, first!.responseStatus, first!.responseHead, first!.durationMs, first!.error],
    ["delivered", 1, 200, "HTTP/1.1 200 OK", 12, ""],
  );
  assert.ok(first!.settledAt && first!.lastAttemptAt);
  assert.deepEqual([second!.status, second!.attempts, second!.settledAt], ["queued", 1, null]);
  assert.equal(second!.dueAt.getTime() - second!.lastAttemptAt!.getTime(), 60_000);
  assert.deepEqual(await lease(), [], "not due yet");
  await sql`update webhook_deliveries set due_at = now() where id = ${two!.id}`;
  assert.equal((await lease())[0]!.attempts, 1);
  assert.equal((await settle(settlement(one!)))[0]!.held, false, "what is settled is not settled twice");
});

test("failing_since is the first failure after the last success", async () => {
  await addEvents(sql, workspaceId, 5);
  await follow();
  const rows = await lease();
  const since = async () => (await getWebhook(sql, workspaceId, webhook.id))!.failingSince;
  await settle(settlement(rows[0]!, failing));
  const first = await since();
  assert.ok(first);
  await settle(settlement(rows[1]!, failing));
  assert.deepEqual(await since(), first);
  await settle(settlement(rows[2]!, { ...failing, endpoint: "unknown" }), settlement(rows[3]!));
  assert.equal(await since(), null);
  await settle(settlement(rows[4]!, { ...failing, endpoint: "unknown" }));
  assert.equal(await since(), null, "a fault of ours is not the endpoint's");
});

test("five days of nothing but failures switch it off, with an event in the same moment", async () => {
  await addEvents(sql, workspaceId, 2);
  await follow();
  const [one, two] = await lease();
  await sql`update webhooks set failing_since = now() - interval '4 days 23 hours' where id = ${webhook.id}`;
  await settle(settlement(one!, failing));
  assert.equal((await getWebhook(sql, workspaceId, webhook.id))!.disabledAt, null);
  await sql`update webhooks set failing_since = '2026-01-02 03:04:05.678Z' where id = ${webhook.id}`;
  const last = settlement(two!, failing);
  assert.deepEqual(await settle(last), [{ held: true, disabled: true }]);
  const off = (await getWebhook(sql, workspaceId, webhook.id))!;
  assert.ok(off.disabledAt);
  assert.match(off.disabledReason!, /failed since 2026-01-02 03:04 UTC; the last one with: the endpoint answered 500/);
  const event = (await readEvents(sql, { workspaceId, after: 2n, limit: 9 }))[0]!;
  assert.deepEqual(
    [event.number, event.id, event.type, event.payload],
    [
      "3",
      last.eventId,
      "webhook.disabled",
      {
        webhookId: `wh_${webhook.id}`,
        url: webhook.url,
        reason: off.disabledReason,
        failingSince: "2026-01-02T03:04:05.678Z",
      },
    ],
  );
});

test("410 switches it off at once, one event for many answers, and a success beside it does not help", async () => {
  await addEvents(sql, workspaceId, 4);
  await follow();
  const [one, two, three, four] = await lease();
  const gone = { status: "failed", responseStatus: 410, error: "the endpoint answered 410", endpoint: "gone" } as const;
  const settled = await settle(settlement(one!), settlement(two!, gone), settlement(three!, gone));
  assert.deepEqual(
    settled.map(({ disabled }) => disabled),
    [true, true, true],
  );
  assert.deepEqual(await settle(settlement(four!, gone)), [{ held: true, disabled: false }], "it is off already");
  assert.deepEqual(await eventTypes(), [
    "email.delivered",
    "email.delivered",
    "email.delivered",
    "email.delivered",
    "webhook.disabled",
  ]);
  const event = (await readEvents(sql, { workspaceId, after: 4n, limit: 9 }))[0]!;
  assert.equal("failingSince" in event.payload, false);
});

test("settling in many statements at once keeps the log dense and breaks no lock order", async () => {
  const webhooks = await Promise.all(Array.from({ length: 6 }, () => addWebhook(sql, workspaceId)));
  await addEvents(sql, workspaceId, 8);
  await follow();
  const rows = (await Promise.all(webhooks.map((w) => lease(10, workerId, w.id)))).flat();
  assert.equal(rows.length, 48);
  const gone = { status: "failed", responseStatus: 410, error: "gone", endpoint: "gone" } as const;
  const shuffled = rows.toSorted((a, b) => a.id.slice(-4).localeCompare(b.id.slice(-4)));
  const batches = Array.from({ length: 8 }, (_, i) =>
    shuffled.filter((_, j) => j % 8 === i).map((row) => settlement(row, gone)),
  );
  await Promise.all(batches.map((batch) => settle(...batch)));
  const events = await readEvents(sql, { workspaceId, after: 0n, limit: 99 });
  assert.deepEqual(
    events.map((event) => Number(event.number)),
    Array.from({ length: 14 }, (_, i) => i + 1),
  );
});

test("what waits for a disabled webhook fails, for a deleted one it goes; what is under way is left", async () => {
  await addEvents(sql, workspaceId, 5);
  await follow();
  const [held] = await lease(1);
  const lane = { workspaceId, webhookId: webhook.id, limit: 3 };
  assert.equal(await dropWaiting(sql, lane), 0, "an enabled webhook keeps its queue");
  await updateWebhook(sql, workspaceId, webhook.id, { enabled: false });
  assert.deepEqual(await lease(), [], "nothing is leased for it");
  assert.equal((await findWebhookLanes(sql, 99)).find((l) => l.webhookId === webhook.id)?.state, "disabled");
  assert.equal(await dropWaiting(sql, lane), 3);
  assert.equal(await dropWaiting(sql, lane), 1);
  assert.equal(await dropWaiting(sql, lane), 0);
  assert.deepEqual(
    (await log()).map((d) => [d.status, d.error]),
    [...Array(4).fill(["failed", "the webhook was disabled before it could be delivered"]), ["queued", null]],
  );
  assert.equal((await settle(settlement(held!)))[0]!.held, true);

  const other = await addWebhook(sql, workspaceId);
  await addEvents(sql, workspaceId, 2);
  await follow();
  await deleteWebhook(sql, workspaceId, other.id);
  assert.equal((await findWebhookLanes(sql, 99)).find((l) => l.webhookId === other.id)?.state, "deleted");
  assert.equal(await dropWaiting(sql, { ...lane, webhookId: other.id }), 2);
  assert.equal(
    (await findWebhookLanes(sql, 99)).some((l) => l.webhookId === other.id),
    false,
  );
});

test("lanes are the webhooks that wait, once each, however much waits", async () => {
  const other = await addWebhook(sql, workspaceId);
  await addEvents(sql, workspaceId, 30);
  await follow();
  await sql`update webhook_deliveries set due_at = now() + interval '1 hour' where webhook_id = ${other.id}`;
  await sql`update webhooks set failing_since = now() - interval '2 minutes' where id = ${other.id}`;
  const lanes = (await findWebhookLanes(sql, 99)).filter((lane) => lane.workspaceId === workspaceId);
  const mine = lanes.find((lane) => lane.webhookId === webhook.id)!;
  const later = lanes.find((lane) => lane.webhookId === other.id)!;
  assert.equal(lanes.length, 2);
  assert.ok(mine.dueInMs <= 0 && later.dueInMs > 3_500_000);
  assert.deepEqual([mine.failing, later.failing], [false, true]);
});

test("an event past its time leaves its delivery without one", async () => {
  await addEvents(sql, workspaceId, 1);
  await follow();
  await sql`delete from events where workspace_id = ${workspaceId}`;
  const [row] = await lease();
  assert.equal(row!.event, undefined);
});
