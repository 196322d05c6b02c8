import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { addEvents, addWebhook, follow } from "../../../test/harness/webhooks.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { eventsOf, getDelivery, insertTestDelivery, listDeliveries, redeliver } from "./deliveries.ts";
import type { Webhook } from "./webhooks.ts";

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

const list = (filter: Partial<Parameters<typeof listDeliveries>[1]> = {}) =>
  listDeliveries(sql, { workspaceId, webhookId: webhook.id, before: undefined, limit: 100, ...filter });
const redeliverRange = (from: number, to: number, anyType?: boolean) =>
  redeliver(sql, {
    workspaceId,
    webhookId: webhook.id,
    from: BigInt(from),
    to: BigInt(to),
    nowMs: Date.now(),
    anyType,
  });
const settleAll = (status: string) =>
  sql`update webhook_deliveries set status = ${status}, settled_at = now(), attempts = 8 where webhook_id = ${webhook.id}`;

test("the delivery log is listed newest first, by page, status and event", async () => {
  await addEvents(sql, workspaceId, 5);
  await follow(sql);
  const all = await list();
  assert.deepEqual(
    all.map((d) => d.eventNumber),
    ["5", "4", "3", "2", "1"],
  );
  const page = await list({ limit: 2 });
  assert.deepEqual(
    (await list({ before: page[1]!.id, limit: 2 })).map((d) => d.eventNumber),
    ["3", "2"],
  );
  await sql`update webhook_deliveries set status = 'failed', settled_at = now() where id = ${all[1]!.id}`;
  assert.deepEqual(
    (await list({ status: "failed" })).map((d) => d.eventNumber),
    ["4"],
  );
  assert.equal((await list({ status: "queued" })).length, 4);
  assert.deepEqual(
    (await list({ eventId: all[2]!.eventId })).map((d) => d.eventNumber),
    ["3"],
  );
  assert.equal((await list({ webhookId: makeUuid(Date.now()) })).length, 0);
});

test("a delivery is found only in its own webhook and workspace", async () => {
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  const [row] = await list();
  const at = { workspaceId, webhookId: webhook.id, id: row!.id };
  assert.deepEqual(await getDelivery(sql, at), row);
  assert.equal(await getDelivery(sql, { ...at, workspaceId: await makeWorkspace(sql) }), undefined);
  assert.equal(await getDelivery(sql, { ...at, webhookId: (await addWebhook(sql, workspaceId)).id }), undefined);
});

test("the events of deliveries are returned until they are deleted", async () => {
  await addEvents(sql, workspaceId, 3);
  await follow(sql);
  const ids = (await list()).map((d) => d.id);
  await sql`delete from events where workspace_id = ${workspaceId} and number = 2`;
  const events = await eventsOf(sql, { workspaceId, webhookId: webhook.id, ids });
  assert.deepEqual([...events.keys()].sort(), ["1", "3"]);
  assert.deepEqual(events.get("3")!.payload, { recipients: ["a@there.test"] });
});

test("redelivering a range adds new deliveries, filtered by type", async () => {
  await sql`update webhooks set event_types = '{email.bounced}' where id = ${webhook.id}`;
  await addEvents(sql, workspaceId, 3, { type: "email.bounced" });
  await addEvents(sql, workspaceId, 2);
  await follow(sql);
  await settleAll("delivered");
  assert.equal(await redeliverRange(2, 5), 2);
  assert.deepEqual(
    (await list({ status: "queued" })).map((d) => [d.eventNumber, d.attempts]),
    [
      ["3", 0],
      ["2", 0],
    ],
  );
  assert.equal((await list()).length, 5);
  assert.equal(await redeliverRange(5, 5, true), 1, "the filter does not apply with anyType");
});

test("a delivery that is still queued becomes due now instead of being duplicated", async () => {
  await addEvents(sql, workspaceId, 3);
  await follow(sql);
  await sql`update webhook_deliveries set due_at = service_time() + interval '5 hours', attempts = 3 where webhook_id = ${webhook.id}`;
  const [third] = await list();
  await sql`update webhook_deliveries set status = 'failed', settled_at = now() where id = ${third!.id}`;
  assert.equal(await redeliverRange(1, 3), 3);
  const queued = await list({ status: "queued" });
  assert.deepEqual(
    queued.map((d) => [d.eventNumber, d.attempts]),
    [
      ["3", 0],
      ["2", 3],
      ["1", 3],
    ],
  );
  const [row] = await sql<{ due: number }[]>`
    select count(*)::int as due from webhook_deliveries where webhook_id = ${webhook.id} and status = 'queued' and due_at <= service_time()`;
  assert.equal(row!.due, 3);
});

test("redelivering 10,000 events adds 10,000 deliveries in order", async () => {
  await sql`insert into events (workspace_id, number, id, type, payload)
    select ${workspaceId}, n, gen_random_uuid(), 'email.delivered', '{}' from generate_series(1, 10000) n`;
  await sql`update event_counters set last = 10000 where workspace_id = ${workspaceId}`;
  await sql`update webhooks set followed = 10000 where id = ${webhook.id}`;
  assert.equal(await redeliverRange(1, 10_000), 10_000);
  const [row] = await sql<{ sorted: boolean }[]>`
    select bool_and(event_number = position) as sorted from (
      select event_number, row_number() over (order by id) as position from webhook_deliveries where webhook_id = ${webhook.id}) x`;
  assert.equal(row!.sorted, true);
});

test("a test delivery is in the log with a final status", async () => {
  const event = {
    number: "",
    id: makeUuid(Date.now()),
    type: "email.delivered",
    emailId: null,
    messageId: null,
    metadata: {},
    payload: {},
    createdAt: new Date(),
  };
  const made = await insertTestDelivery(sql, {
    workspaceId,
    webhookId: webhook.id,
    id: makeUuid(Date.now()),
    event,
    status: "failed",
    responseStatus: undefined,
    responseHead: "",
    durationMs: 3,
    exchange: { url: "https://hooks.test/", requestHeaders: "", responseHeaders: "", responseBody: "" },

    error: "refused",
  });
  assert.deepEqual([made.eventNumber, made.status, made.attempts, made.error], [null, "failed", 1, "refused"]);
  assert.deepEqual(await list(), [made]);
});
