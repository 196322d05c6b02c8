/** Tests the queue of webhook deliveries: leases, their order, and how settling changes deliveries, webhooks and the event log. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { holdLock } from "../../../test/harness/held-lock.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { beatAfter } from "../../../test/harness/time.ts";
import { addEvents, addWebhook, follow } from "../../../test/harness/webhooks.ts";
import { readEventPage } from "../../events/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { forgetWorker, makeLease, registerWorker } from "../../postgres/workers.ts";
import { disableAfterMs } from "../rules/retry.ts";
import { listDeliveries } from "./deliveries.ts";
import { dropWaiting, findWaitingWebhooks, type LeasedDelivery, leaseDeliveries, releaseDeliveries } from "./lease.ts";
import { settleDeliveries, type WebhookSettlement } from "./settle.ts";
import { deleteWebhook, getWebhook, updateWebhook, type Webhook } from "./webhooks.ts";

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
const lease = (quota = 10, worker = workerId, id = webhook.id) =>
  leaseDeliveries(sql, makeLease(worker, ++leases), [{ workspaceId, webhookId: id, quota }]);
const numbers = (rows: LeasedDelivery[]) => rows.map((row) => Number(row.event?.number));

function settlement(row: LeasedDelivery, extra: Partial<WebhookSettlement> = {}): WebhookSettlement {
  return {
    workspaceId: row.workspaceId,
    webhookId: row.webhookId,
    id: row.id,
    lease: row.lease,
    status: "delivered",
    dueInMs: undefined,
    attempts: row.attempts + 1,
    responseStatus: 200,
    responseHead: "HTTP/1.1 200 OK",
    durationMs: 12,
    exchange: {
      url: "https://hooks.test/",
      requestHeaders: "webhook-id: evt_1",
      responseHeaders: "HTTP/1.1 200 OK",
      responseBody: "ok",
    },

    error: "",
    endpoint: "worked",
    eventId: makeUuid(Date.now()),
    ...extra,
  };
}
const settle = async (...items: WebhookSettlement[]) =>
  (await settleDeliveries(sql, items, { disableAfterMs })).results;
const failing = {
  status: "queued",
  dueInMs: 60_000,
  responseStatus: 500,
  error: "the endpoint answered 500",
  endpoint: "failed",
} as const;
const eventTypes = async () =>
  (await readEventPage(sql, { workspaceId, after: 0n, limit: 999 })).events.map((event) => event.type);
const log = () => listDeliveries(sql, { workspaceId, webhookId: webhook.id, before: undefined, limit: 100 });

test("a lease contains the event, the URL and the secrets, and a leased delivery is not leased again", async () => {
  await addEvents(sql, workspaceId, 3);
  await follow(sql);
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

test("the leases of a worker are free once it has no heartbeat, and not before", async () => {
  await addEvents(sql, workspaceId, 2);
  await follow(sql);
  const other = await newWorker();
  const lost = await lease(2, other);
  assert.deepEqual(await lease(), []);
  await sql`update workers set beat_at = beat_at - interval '31 seconds' where id = ${other}`;
  assert.deepEqual(numbers(await lease()), [1, 2]);
  const [settled] = await settle(settlement(lost[0]!));
  assert.equal(settled!.settled, false, "the late settlement of the first worker is rejected");
  await forgetWorker(sql, workerId);
  assert.deepEqual(numbers(await lease(10, await newWorker())), [1, 2]);
});

test("an event waits until earlier events of its email have had their first attempt", async () => {
  const emailId = makeUuid(Date.now());
  await addEvents(sql, workspaceId, 3, { emailId });
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  const other = await newWorker();
  const rows = await lease();
  assert.deepEqual(numbers(rows), [1, 4], "another email does not wait");
  assert.deepEqual(await lease(10, other), []);
  await settle(settlement(rows[0]!, failing));
  const second = await lease(10, other);
  assert.deepEqual(numbers(second), [2], "the first event has had its attempt, although it failed");
  assert.deepEqual(await lease(), []);
  assert.deepEqual(numbers(await lease(10, other)), [3], "the worker that has leased an event keeps the order");
  await sql`update webhook_deliveries set lease = null where webhook_id = ${webhook.id} and event_number = 3`;
  await settle(settlement(second[0]!));
  assert.deepEqual(numbers(await lease()), [3]);
});

test("an event does not wait for deliveries of another webhook", async () => {
  const other = await addWebhook(sql, workspaceId);
  const emailId = makeUuid(Date.now());
  await addEvents(sql, workspaceId, 2, { emailId });
  await follow(sql);
  assert.deepEqual(numbers(await lease()), [1]);
  assert.deepEqual(numbers(await lease(10, workerId, other.id)), [1]);
});

test("settling writes the response, and a failed delivery is leased again when it is due", async () => {
  await addEvents(sql, workspaceId, 2);
  await follow(sql);
  const [one, two] = await lease();
  assert.deepEqual(await settle(settlement(one!), settlement(two!, failing)), [
    { settled: true, disabled: false },
    { settled: true, disabled: false },
  ]);
  const [second, first] = await log();
  assert.deepEqual(
    [first!.status, first!.attempts, first!.responseStatus, first!.responseHead, first!.durationMs, first!.error],
    ["delivered", 1, 200, "HTTP/1.1 200 OK", 12, ""],
  );
  assert.ok(first!.settledAt && first!.lastAttemptAt);
  assert.deepEqual([second!.status, second!.attempts, second!.settledAt], ["queued", 1, null]);
  const [waiting] = (await findWaitingWebhooks(sql, 100)).filter((one) => one.webhookId === webhook.id);
  assert.ok(waiting!.dueInMs > 0 && waiting!.dueInMs <= 60_000, String(waiting!.dueInMs));
  assert.deepEqual(await lease(), [], "not due yet");
  await sql`update webhook_deliveries set due_at = service_time() where id = ${two!.id}`;
  assert.equal((await lease())[0]!.attempts, 1);
  assert.equal((await settle(settlement(one!)))[0]!.settled, false, "a final delivery is not settled again");
});

test("failing_since is the first failure after the last success", async () => {
  await addEvents(sql, workspaceId, 5);
  await follow(sql);
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
  assert.equal(await since(), null, "an internal error does not blame the endpoint");
});

test("the last success and failure are written at most once a minute, also after a jump of the clock", async () => {
  await addEvents(sql, workspaceId, 6);
  await follow(sql);
  const rows = await lease();
  const times = async () => {
    const { lastSuccessAt, lastFailureAt } = (await getWebhook(sql, workspaceId, webhook.id))!;
    return [lastSuccessAt, lastFailureAt];
  };
  assert.deepEqual(await times(), [null, null]);
  await settle(settlement(rows[0]!));
  const [success, none] = await times();
  assert.ok(success);
  assert.equal(none, null);
  await settle(settlement(rows[1]!));
  assert.deepEqual(await times(), [success, null]);
  await settle(settlement(rows[2]!, failing));
  const [still, failure] = await times();
  assert.deepEqual(still, success);
  assert.ok(failure);
  for (const [i, shift] of ["-2 minutes", "400 days"].entries()) {
    await sql`update webhooks set last_failure_at = now() + ${shift}::interval where id = ${webhook.id}`;
    await settle(settlement(rows[3 + i]!, failing));
    const again = (await times())[1]!;
    assert.ok(Math.abs(again.getTime() - failure.getTime()) < 60_000, shift);
  }
  await settle(settlement(rows[5]!, { ...failing, endpoint: "unknown" }));
  assert.deepEqual((await times())[0], success);
});

test("a webhook that has failed for five days is disabled, with an event in the same statement", async () => {
  await addEvents(sql, workspaceId, 2);
  await follow(sql);
  const [one, two] = await lease();
  await sql`update webhooks set failing_since = now() - interval '4 days 23 hours' where id = ${webhook.id}`;
  await settle(settlement(one!, failing));
  assert.equal((await getWebhook(sql, workspaceId, webhook.id))!.disabledAt, null);
  await sql`update webhooks set failing_since = '2026-01-02 03:04:05.678Z' where id = ${webhook.id}`;
  const last = settlement(two!, failing);
  assert.deepEqual(await settle(last), [{ settled: true, disabled: true }]);
  const off = (await getWebhook(sql, workspaceId, webhook.id))!;
  assert.ok(off.disabledAt);
  assert.match(off.disabledReason!, /failed since 2026-01-02 03:04 UTC; the last one with: the endpoint answered 500/);
  const event = (await readEventPage(sql, { workspaceId, after: 2n, limit: 9 })).events[0]!;
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

test("the times of a disabled webhook are as far apart as the setting says, also if the statement waited for a lock", async () => {
  const afterMs = 400;
  // Without the beats of a program, service time stops after 15 s.
  await beatAfter(sql, [workerId], 0);
  await addEvents(sql, workspaceId, 2);
  await follow(sql);
  const [first, second] = await lease();
  const failure = {
    status: "queued",
    dueInMs: 60_000,
    endpoint: "failed",
    error: "the endpoint answered 500",
  } as const;
  await settleDeliveries(sql, [settlement(first!, failure)], { disableAfterMs: afterMs });
  const lock = await holdLock(database.url, `select 1 from webhook_deliveries where id = '${second!.id}' for update`);
  const settling = settleDeliveries(sql, [settlement(second!, failure)], { disableAfterMs: afterMs });
  await delay(2 * afterMs);
  await lock.release();
  assert.deepEqual((await settling).results, [{ settled: true, disabled: true }]);
  const { failingSince, disabledAt } = (await getWebhook(sql, workspaceId, webhook.id))!;
  assert.ok(disabledAt!.getTime() - failingSince!.getTime() >= afterMs);
});

test("410 disables a webhook immediately, with one event for several responses and despite a success in the batch", async () => {
  await addEvents(sql, workspaceId, 4);
  await follow(sql);
  const [one, two, three, four] = await lease();
  const gone = { status: "failed", responseStatus: 410, error: "the endpoint answered 410", endpoint: "gone" } as const;
  const settled = await settle(settlement(one!), settlement(two!, gone), settlement(three!, gone));
  assert.deepEqual(
    settled.map(({ disabled }) => disabled),
    [true, true, true],
  );
  assert.deepEqual(
    await settle(settlement(four!, gone)),
    [{ settled: true, disabled: false }],
    "it is already disabled",
  );
  assert.deepEqual(await eventTypes(), [
    "email.delivered",
    "email.delivered",
    "email.delivered",
    "email.delivered",
    "webhook.disabled",
  ]);
  const event = (await readEventPage(sql, { workspaceId, after: 4n, limit: 9 })).events[0]!;
  assert.equal("failingSince" in event.payload, false);
});

test("concurrent settlements do not deadlock, and event numbers have no gap", async () => {
  const webhooks = await Promise.all(Array.from({ length: 6 }, () => addWebhook(sql, workspaceId)));
  await addEvents(sql, workspaceId, 8);
  await follow(sql);
  const rows = (await Promise.all(webhooks.map((w) => lease(10, workerId, w.id)))).flat();
  assert.equal(rows.length, 48);
  const gone = { status: "failed", responseStatus: 410, error: "gone", endpoint: "gone" } as const;
  const shuffled = rows.toSorted((a, b) => a.id.slice(-4).localeCompare(b.id.slice(-4)));
  const batches = Array.from({ length: 8 }, (_, i) =>
    shuffled.filter((_, j) => j % 8 === i).map((row) => settlement(row, gone)),
  );
  await Promise.all(batches.map((batch) => settle(...batch)));
  const events = (await readEventPage(sql, { workspaceId, after: 0n, limit: 99 })).events;
  assert.deepEqual(
    events.map((event) => Number(event.number)),
    Array.from({ length: 14 }, (_, i) => i + 1),
  );
});

test("queued deliveries of a disabled webhook fail, those of a deleted one are deleted, and leased ones are kept", async () => {
  await addEvents(sql, workspaceId, 5);
  await follow(sql);
  const [leased] = await lease(1);
  const queue = { workspaceId, webhookId: webhook.id, limit: 3 };
  assert.equal(await dropWaiting(sql, queue), 0, "an enabled webhook keeps its queue");
  await updateWebhook(sql, workspaceId, webhook.id, { enabled: false });
  assert.deepEqual(await lease(), [], "nothing is leased for it");
  assert.equal((await findWaitingWebhooks(sql, 99)).find((l) => l.webhookId === webhook.id)?.state, "disabled");
  assert.equal(await dropWaiting(sql, queue), 3);
  assert.equal(await dropWaiting(sql, queue), 1);
  assert.equal(await dropWaiting(sql, queue), 0);
  assert.deepEqual(
    (await log()).map((d) => [d.status, d.error]),
    [...Array(4).fill(["failed", "the webhook was disabled before this event was delivered"]), ["queued", null]],
  );
  assert.equal((await settle(settlement(leased!)))[0]!.settled, true);

  const other = await addWebhook(sql, workspaceId);
  await addEvents(sql, workspaceId, 2);
  await follow(sql);
  await deleteWebhook(sql, workspaceId, other.id);
  assert.equal((await findWaitingWebhooks(sql, 99)).find((l) => l.webhookId === other.id)?.state, "deleted");
  assert.equal(await dropWaiting(sql, { ...queue, webhookId: other.id }), 2);
  assert.equal(
    (await findWaitingWebhooks(sql, 99)).some((l) => l.webhookId === other.id),
    false,
  );
});

test("a search finds each webhook once, however many deliveries are queued", async () => {
  const other = await addWebhook(sql, workspaceId);
  await addEvents(sql, workspaceId, 30);
  await follow(sql);
  await sql`update webhook_deliveries set due_at = service_time() + interval '1 hour' where webhook_id = ${other.id}`;
  await sql`update webhooks set failing_since = service_time() - interval '2 minutes' where id = ${other.id}`;
  const waiting = (await findWaitingWebhooks(sql, 99)).filter((one) => one.workspaceId === workspaceId);
  const mine = waiting.find((one) => one.webhookId === webhook.id)!;
  const later = waiting.find((one) => one.webhookId === other.id)!;
  assert.equal(waiting.length, 2);
  assert.ok(mine.dueInMs <= 0 && later.dueInMs > 3_500_000);
  assert.deepEqual([mine.failing, later.failing], [false, true]);
});

test("a delivery whose event was deleted is leased without an event", async () => {
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  await sql`delete from events where workspace_id = ${workspaceId}`;
  const [row] = await lease();
  assert.equal(row!.event, undefined);
});
