import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { addEvents, addWebhook } from "../../test/harness/webhooks.ts";
import type { Sql } from "./db.ts";
import { makeUuid } from "./ids.ts";
import { eventsOf, getDelivery, insertTestDelivery, listDeliveries, redeliver } from "./webhook-deliveries.ts";
import { followLog } from "./webhook-follow.ts";
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

const follow = () => followLog(sql, { nowMs: Date.now(), webhooks: 20, events: 500 });
const list = (filter: Partial<Parameters<typeof listDeliveries>[1]> = {}) =>
  listDeliveries(sql, { workspaceId, webhookId: webhook.id, before: undefined, limit: 100, ...filter });
const again = (from: number, to: number, anyType?: boolean) =>
  redeliver(sql, {
    workspaceId,
    webhookId: webhook.id,
    from: BigInt(from),
    to: BigInt(to),
    nowMs: Date.now(),
    anyType,
  });
const end = (status: string) =>
  sql`update webhook_deliveries set status = ${status}, settled_at = now(), attempts = 8 where webhook_id = ${webhook.id}`;

test("the log is read newest first, page by page, by status and by event", async () => {
  await addEvents(sql, workspaceId, 5);
  await follow();
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

test("a delivery is found in its own webhook and workspace only", async () => {
  await addEvents(sql, workspaceId, 1);
  await follow();
  const [row] = await list();
  const at = { workspaceId, webhookId: webhook.id, id: row!.id };
  assert.deepEqual(await getDelivery(sql, at), row);
  assert.equal(await getDelivery(sql, { ...at, workspaceId: await makeWorkspace(sql) }), undefined);
  assert.equal(await getDelivery(sql, { ...at, webhookId: (await addWebhook(sql, workspaceId)).id }), undefined);
});

test("events of deliveries are given while they are kept", async () => {
  await addEvents(sql, workspaceId, 3);
  await follow();
  const ids = (await list()).map((d) => d.id);
  await sql`delete from events where workspace_id = ${workspaceId} and number = 2`;
  const events = await eventsOf(sql, { workspaceId, webhookId: webhook.id, ids });
  assert.deepEqual([...events.keys()].sort(), ["1", "3"]);
  assert.deepEqual(events.get("3")!.payload, { recipients: ["a@there.test"] });
});

test("a range is put in the queue again, filtered by type, as new deliveries", async () => {
  await sql`update webhooks set event_types = '{email.bounced}' where id = ${webhook.id}`;
  await addEvents(sql, workspaceId, 3, { type: "email.bounced" });
  await addEvents(sql, workspaceId, 2);
  await follow();
  await end("delivered");
  assert.equal(await again(2, 5), 2);
  assert.deepEqual(
    (await list({ status: "queued" })).map((d) => [d.eventNumber, d.attempts]),
    [
      ["3", 0],
      ["2", 0],
    ],
  );
  assert.equal((await list()).length, 5);
  assert.equal(await again(5, 5, true), 1, "one that was asked for by name comes whatever its type");
});

test("what still waits is brought forward instead of doubled", async () => {
  await addEvents(sql, workspaceId, 3);
  await follow();
  await sql`update webhook_deliveries set due_at = now() + interval '5 hours', attempts = 3 where webhook_id = ${webhook.id}`;
  const [third] = await list();
  await sql`update webhook_deliveries set status = 'failed', settled_at = now() where id = ${third!.id}`;
  assert.equal(await again(1, 3), 3);
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
    select count(*)::int as due from webhook_deliveries where webhook_id = ${webhook.id} and status = 'queued' and due_at <= now()`;
  assert.equal(row!.due, 3);
});

test("ten thousand at once are ten thousand deliveries, in order", async () => {
  await sql`insert into events (workspace_id, number, id, type, payload)
    select ${workspaceId}, n, gen_random_uuid(), 'email.delivered', '{}' from generate_series(1, 10000) n`;
  await sql`update event_counters set last = 10000 where workspace_id = ${workspaceId}`;
  await sql`update webhooks set followed = 10000 where id = ${webhook.id}`;
  assert.equal(await again(1, 10_000), 10_000);
  const [row] = await sql<{ sorted: boolean }[]>`
    select bool_and(event_number = place) as sorted from (
      select event_number, row_number() over (order by id) as place from webhook_deliveries where webhook_id = ${webhook.id}) x`;
  assert.equal(row!.sorted, true);
});

test("a test is in the log, settled, and in no queue", async () => {
  const event = {
    ...{ number: "", id: makeUuid(Date.now()), type: "email.delivered", emailId: null, messageId: null },
    ...{ metadata: {}, payload: {}, createdAt: new Date() },
  };
  const made = await insertTestDelivery(sql, {
    ...{ workspaceId, webhookId: webhook.id, id: makeUuid(Date.now()), event, status: "failed" },
    ...{ responseStatus: undefined, responseHead: "", durationMs: 3, error: "refused" },
  });
  assert.deepEqual([made.eventNumber, made.status, made.attempts, made.error], [null, "failed", 1, "refused"]);
  assert.deepEqual(await list(), [made]);
});
