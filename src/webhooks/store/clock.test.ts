/** The database's clock jumps and comes back: webhooks get every event once, retries keep their pause, and none is disabled early. */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { beatAfter, passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { addEvents, addWebhook, follow } from "../../../test/harness/webhooks.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { createPartitions } from "../../postgres/partitions.ts";
import type { Sql } from "../../postgres/pool.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { disableAfterMs } from "../rules/retry.ts";
import { listDeliveries } from "./deliveries.ts";
import { findWaitingWebhooks, type LeasedDelivery, leaseDeliveries } from "./lease.ts";
import { settleDeliveries } from "./settle.ts";
import { getWebhook, type Webhook } from "./webhooks.ts";

const dayMs = 86_400_000;
const jumps = [3, -3, 30, -30, 400, 0];
let database: TestDatabase;
let sql: Sql;
let workspaceId: string;
let webhook: Webhook;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());
beforeEach(async () => {
  workspaceId = await makeWorkspace(sql);
  webhook = await addWebhook(sql, workspaceId);
});
afterEach(() => shiftWallTime(sql, "0 days"));

/** Appends events as they are stored while the database's clock is off by so many days. */
async function addEventsAt(days: number, count: number): Promise<void> {
  await shiftWallTime(sql, `${days} days`);
  await createPartitions(sql, Date.now() + days * dayMs);
  const [before] = await sql<{ last: string }[]>`select last from event_counters where workspace_id = ${workspaceId}`;
  await addEvents(sql, workspaceId, count);
  await sql`update events set created_at = clock_timestamp() + ${days} * interval '1 day'
    where workspace_id = ${workspaceId} and number > ${before!.last}`;
}

test("each event becomes one delivery when the clock steps back by 3 and 30 days, and forward by 400", async () => {
  for (const days of [0, -3, -30, 400, -30, 0]) {
    await addEventsAt(days, 4);
    // Smaller pages than the events of one step, so that a position is kept within a step and between two.
    while ((await follow(sql, { events: 3 })).webhooks.length > 0);
  }
  const rows = await sql<{ number: string }[]>`
    select event_number as number from webhook_deliveries where webhook_id = ${webhook.id} order by event_number`;
  assert.deepEqual(
    rows.map(({ number }) => Number(number)),
    Array.from({ length: 24 }, (_, i) => i + 1),
  );
});

test("webhooks take turns, also one that read an event from the future", async () => {
  await addEventsAt(400, 1);
  await follow(sql);
  await addEventsAt(0, 1);
  const second = await addWebhook(sql, workspaceId);
  await sql`update webhooks set followed = 0 where id = ${second.id}`;
  await sql`update webhooks set followed_at = followed_at - interval '1 minute' where id = ${webhook.id}`;
  await follow(sql, { webhooks: 1, events: 1 });
  const [row] = await sql<{ followed: string }[]>`select followed from webhooks where id = ${webhook.id}`;
  assert.equal(row?.followed, "2", "the one that waited longest reads first");
});

async function leased(): Promise<LeasedDelivery[]> {
  const workerId = await registerWorker(sql, { host: "h", pid: 1, roles: ["webhooks"], version: "t" });
  return await leaseDeliveries(sql, makeLease(workerId, 1), [{ workspaceId, webhookId: webhook.id, quota: 10 }]);
}

const fail = (row: LeasedDelivery) =>
  settleDeliveries(
    sql,
    [
      {
        workspaceId,
        webhookId: row.webhookId,
        id: row.id,
        lease: row.lease,
        status: "queued",
        dueInMs: 60_000,
        attempts: row.attempts + 1,
        responseStatus: 500,
        responseHead: "",
        durationMs: 1,
        exchange: { url: "https://hooks.test/", requestHeaders: "", responseHeaders: "", responseBody: "" },

        error: "the endpoint answered 500",
        endpoint: "failed",
        eventId: makeUuid(Date.now()),
      },
    ],
    { disableAfterMs },
  );

test("a retry is due after its pause, whatever the clock shows, and the API shows it in wall time", async () => {
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  for (const days of jumps) {
    const [row] = await leased();
    await fail(row ?? assert.fail("not due"));
    await shiftWallTime(sql, `${days} days`);
    assert.deepEqual(await leased(), [], `${days}`);
    const [waiting] = (await findWaitingWebhooks(sql, 100)).filter((one) => one.webhookId === webhook.id);
    // Without heartbeats, the sight of a clock that is ahead or back moves service time by up to 15 s.
    assert.ok(waiting!.dueInMs > 0 && waiting!.dueInMs <= 75_000, String(waiting!.dueInMs));
    // Shown by the clocks of the last heartbeat.
    await beatAfter(sql, [], 0);
    const [shown] = await listDeliveries(sql, { workspaceId, webhookId: webhook.id, before: undefined, limit: 1 });
    const inMs = shown!.dueAt.getTime() - (Date.now() + days * dayMs);
    assert.ok(Math.abs(inMs) < 120_000, `${days} days: shown as due in ${inMs} ms`);
    await passServiceTime(sql, "2 minutes");
  }
});

test("a webhook is disabled after five days of observed failures, not by a jump", async () => {
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  const isDisabled = async () => (await getWebhook(sql, workspaceId, webhook.id))!.disabledAt !== null;
  for (const days of jumps) {
    const [row] = await leased();
    await shiftWallTime(sql, `${days} days`);
    await fail(row ?? assert.fail("not due"));
    assert.equal(await isDisabled(), false, `${days}`);
    await passServiceTime(sql, "2 minutes");
  }
  await passServiceTime(sql, "5 days");
  const [row] = await leased();
  await fail(row!);
  assert.equal(await isDisabled(), true);
});
