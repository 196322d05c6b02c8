/** Deliveries that are added with a lease, so that the loop can post them at once. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { addEvents, addManyEvents, addWebhook } from "../../../test/harness/webhooks.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { type FollowRooms, followLog } from "./follow.ts";
import { type LeasedDelivery, leaseDeliveries } from "./lease.ts";
import type { Webhook } from "./webhooks.ts";

let database: TestDatabase;
let sql: Sql;
let worker: number;
let other: number;
let workspaceId: string;
let webhook: Webhook;
let leases = 0;

before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
  const register = () => registerWorker(sql, { host: "h", pid: 1, roles: ["webhooks"], version: "t" });
  [worker, other] = [await register(), await register()];
});
after(async () => await database.drop());
beforeEach(async () => {
  await sql`delete from webhooks`;
  workspaceId = await makeWorkspace(sql);
  webhook = await addWebhook(sql, workspaceId);
});

const follow = (rooms: Partial<FollowRooms>, workerId = worker) =>
  followLog(sql, {
    nowMs: Date.now(),
    lease: makeLease(workerId, ++leases),
    rooms: { known: [], events: 100, room: 0, ...rooms },
  });
const lease = (workerId: number, quota = 100) =>
  leaseDeliveries(sql, makeLease(workerId, ++leases), [{ workspaceId, webhookId: webhook.id, quota }]);
const numbers = (rows: LeasedDelivery[]) => rows.map(({ event }) => Number(event?.number));

test("within its room a webhook's deliveries are leased, with the event, the URL and the secrets", async () => {
  await addEvents(sql, workspaceId, 5);
  const { webhooks, leased, behind } = await follow({ room: 3 });
  assert.deepEqual(numbers(leased), [1, 2, 3]);
  assert.deepEqual([webhooks.length, webhooks[0]!.waiting, webhooks[0]!.behind, behind], [1, 2, false, false]);
  const [row] = leased;
  assert.deepEqual([row!.signer.url, row!.signer.sealedSecrets.length, row!.attempts], [webhook.url, 1, 0]);
  assert.deepEqual([row!.event!.metadata, row!.event!.emailId], [{ order: "7" }, row!.emailId]);
  assert.deepEqual(numbers(await lease(worker)), [4, 5], "the others wait, and leased ones are not leased again");
});

test("rooms can differ by webhook, and one without events is left out", async () => {
  const second = await addWebhook(sql, workspaceId);
  const third = await addWebhook(sql, workspaceId);
  await addEvents(sql, workspaceId, 4);
  const known = [
    { webhookId: webhook.id, events: 2, room: 2 },
    { webhookId: second.id, events: 0, room: 0 },
  ];
  const { webhooks, leased } = await follow({ known, events: 3, room: 1 });
  const read = new Map(webhooks.map(({ webhookId, waiting, behind }) => [webhookId, [waiting, behind]]));
  assert.deepEqual(
    read,
    new Map([
      [webhook.id, [0, true]],
      [third.id, [2, true]],
    ]),
  );
  assert.deepEqual(numbers(leased), [1, 1, 2]);
  const [one, again] = leased;
  assert.equal(one!.event, again!.event, "deliveries of one event share it");
});

test("every delivery has its event, also when several workspaces have several webhooks", async () => {
  const workspaces = [workspaceId, await makeWorkspace(sql), await makeWorkspace(sql)];
  for (const [i, one] of workspaces.entries()) {
    for (let webhooks = i === 0 ? 1 : 0; webhooks < 3; webhooks++) await addWebhook(sql, one);
    await addManyEvents(sql, one, 30, "email.delivered");
  }
  const { leased } = await follow({ room: 30 });
  assert.equal(leased.length, 3 * 3 * 30);
  assert.deepEqual(
    leased.filter(({ event }) => !Array.isArray(event?.payload.recipients)),
    [],
  );
});

test("the room counts events of the webhook's types, and a statement skips the others", async () => {
  const bounces = await addWebhook(sql, workspaceId, { eventTypes: ["email.bounced"] });
  for (let i = 0; i < 3; i++) {
    await addEvents(sql, workspaceId, 5);
    await addEvents(sql, workspaceId, 1, { type: "email.bounced" });
  }
  await addEvents(sql, workspaceId, 2);
  const read = async (extra: Partial<FollowRooms>) => {
    const { leased, webhooks } = await follow({
      known: [{ webhookId: webhook.id, events: 0, room: 0 }],
      ...extra,
    });
    return [numbers(leased), webhooks.map(({ webhookId, behind }) => [webhookId === bounces.id, behind])];
  };
  assert.deepEqual(await read({ events: 2, room: 2 }), [[6, 12], [[true, true]]]);
  assert.deepEqual(await read({ events: 2, room: 2 }), [[18], [[true, false]]]);
  assert.deepEqual(await read({ events: 2, room: 2 }), [[], []]);
});

test("events of one email are leased together, but not while another worker has an earlier one", async () => {
  const emailId = makeUuid(Date.now());
  await addEvents(sql, workspaceId, 2, { emailId });
  assert.deepEqual(numbers((await follow({ room: 5 })).leased), [1, 2]);
  await addEvents(sql, workspaceId, 1, { emailId });
  assert.deepEqual(numbers((await follow({ room: 5 })).leased), [3], "this worker keeps their order");
  await addEvents(sql, workspaceId, 1, { emailId });
  await addEvents(sql, workspaceId, 1);
  const { leased, webhooks } = await follow({ room: 5 }, other);
  assert.deepEqual([numbers(leased), webhooks[0]!.waiting], [[5], 1]);
  assert.deepEqual(await lease(other), []);
  assert.deepEqual(numbers(await lease(worker)), [4]);
});

test("a large event is not read with its lease", async () => {
  await addEvents(sql, workspaceId, 2);
  await sql`update events set payload = jsonb_build_object('body', repeat('compressible ', 1000)) where workspace_id = ${workspaceId} and number = 1`;
  const payload = { body: makeUuid(0).repeat(200) };
  await sql`update events set payload = ${JSON.stringify(payload)} where workspace_id = ${workspaceId} and number = 2`;
  const { leased } = await follow({ room: 5 });
  assert.deepEqual(
    leased.map(({ isLarge, event }) => [isLarge, event]),
    [
      [true, undefined],
      [true, undefined],
    ],
  );
});
