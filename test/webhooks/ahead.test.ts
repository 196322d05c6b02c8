/** Deliveries that are leased ahead of their requests: what a program holds, and what becomes of it. */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { makeUuid } from "../../src/postgres/ids.ts";
import { until } from "../harness/wait.ts";
import { startWebhookTestbed, verifies, type WebhookTestbed, type WireWebhook } from "../harness/webhook-testbed.ts";
import { addEvents, addManyEvents } from "../harness/webhooks.ts";

/** The most requests at one endpoint. */
const perEndpoint = 10;
const responseMs = 15;

let testbed: WebhookTestbed;
before(async () => {
  testbed = await startWebhookTestbed({ env: { POSTHORN_DRAIN_MS: "5000" } });
});
after(async () => await testbed.stop());
afterEach(async () => {
  testbed.receiver.script = () => 200;
  await testbed.database.sql`delete from webhooks`;
  const queued = () => testbed.database.sql`select 1 from webhook_deliveries where status = 'queued' limit 1`;
  await until("an empty queue", async () => (await queued()).length === 0);
});

/** A slow endpoint, so that deliveries wait in the program for their turn. */
const answersSlowly = async () => {
  await delay(responseMs);
  return 200;
};

const leasedRows = () =>
  testbed.database.sql<
    { id: string }[]
  >`select id from webhook_deliveries where status = 'queued' and lease is not null`;

/** The events that the endpoint has received. */
const receivedAt = (path: string) => new Set(testbed.receiver.at(path).map(({ event }) => event.id)).size;

/** A webhook with many events, at the moment when it has more leased deliveries than requests. */
async function startFlow(path: string, events: number): Promise<WireWebhook & { secret: string }> {
  const { receiver, database } = testbed;
  receiver.script = answersSlowly;
  const webhook = await testbed.createWebhook({ url: receiver.url + path });
  await addManyEvents(database.sql, testbed.workspaceId, events, "email.delivered");
  await until("deliveries that are leased ahead", async () => (await leasedRows()).length > 2 * perEndpoint);
  return webhook;
}

test("events of an email arrive in order and one at a time, and up to ten of other emails at once", async () => {
  const { receiver, database } = testbed;
  const inProgress = new Map<string, number>();
  let most = 0;
  let total = 0;
  let mostInTotal = 0;
  receiver.script = async ({ event: { emailId } }) => {
    const now = (inProgress.get(emailId) ?? 0) + 1;
    inProgress.set(emailId, now);
    most = Math.max(most, now);
    mostInTotal = Math.max(mostInTotal, ++total);
    await delay(responseMs);
    inProgress.set(emailId, now - 1);
    total -= 1;
    return 200;
  };
  await testbed.createWebhook({ url: `${receiver.url}/order` });
  const emailIds = Array.from({ length: 15 }, () => makeUuid(Date.now()));
  for (let round = 0; round < 6; round++)
    for (const emailId of emailIds) await addEvents(database.sql, testbed.workspaceId, 1, { emailId });
  await receiver.until("every event", () => receivedAt("/order") === 90);
  const events = receiver.at("/order").map(({ event }) => event);
  for (const [emailId, posted] of Map.groupBy(events, (event) => event.emailId)) {
    const stored = await testbed.untilEvents("its events", (all) => all.length >= 90);
    const numbers = stored.filter(({ event }) => event.emailId === emailId).map(({ event }) => event.id);
    assert.deepEqual(
      posted.map(({ id }) => id),
      numbers,
    );
  }
  assert.equal(most, 1);
  assert.ok(mostInTotal > 1 && mostInTotal <= perEndpoint, `${mostInTotal} at once`);
});

test("an endpoint that hangs holds few deliveries, and the rest of its events wait in the queue", async () => {
  const { receiver, database } = testbed;
  receiver.script = () => "hang";
  const { id } = await testbed.createWebhook({ url: `${receiver.url}/hanging` });
  await addManyEvents(database.sql, testbed.workspaceId, 300, "email.delivered");
  await testbed.untilDeliveries("every event in the queue", id, (all) => all.length === 300);
  assert.ok((await leasedRows()).length <= perEndpoint);
  assert.ok(receiver.at("/hanging").length <= perEndpoint);
});

test("deliveries that are leased ahead are posted with the secrets and the URL of that moment", async () => {
  const { receiver } = testbed;
  const { id, secret } = await startFlow("/before", 400);
  const rotated = await testbed.ask("RotateWebhookSecret", { id });
  await testbed.ask("UpdateWebhook", { id, url: `${receiver.url}/after` });
  await receiver.until("all events", () => receivedAt("/before") + receivedAt("/after") === 400);
  const requests = [...receiver.at("/before"), ...receiver.at("/after")];
  assert.ok(requests.every((request) => verifies(request, secret)));
  const last = receiver.at("/after").at(-1)!;
  assert.ok(verifies(last, rotated.signingSecret as string));
});

test("a webhook that is disabled gets no more than the requests in progress, and its deliveries fail", async () => {
  const held = Promise.withResolvers<void>();
  const { id } = await startFlow("/disabled", 500);
  testbed.receiver.script = async () => {
    await held.promise;
    return 200;
  };
  await testbed.untilDeliveries("every event in the queue", id, (all) => all.length === 500);
  await testbed.ask("UpdateWebhook", { id, enabled: false });
  held.resolve();
  const deliveries = await testbed.untilDeliveries("all settled", id, (all) => all.every((one) => one.settledAt));
  const failed = deliveries.filter(({ status }) => status === "WEBHOOK_DELIVERY_STATUS_FAILED");
  assert.ok(failed.length > 0, "those that waited");
  assert.ok(failed.every(({ error, attempts }) => /was disabled before/.test(error) && attempts === 0));
  assert.equal(receivedAt("/disabled"), deliveries.length - failed.length);
});

test("a webhook that is deleted gets no more requests, and its deliveries are deleted", async () => {
  const { database } = testbed;
  const { id } = await startFlow("/deleted", 2000);
  await testbed.ask("DeleteWebhook", { id });
  const queued = () => database.sql`select 1 from webhook_deliveries where status = 'queued' limit 1`;
  await until("an empty queue", async () => (await queued()).length === 0);
  assert.ok(receivedAt("/deleted") < 2000);
});

test("on SIGTERM deliveries that wait are released at once, while requests in progress may finish", async () => {
  const { receiver } = testbed;
  const held = Promise.withResolvers<void>();
  const { id } = await startFlow("/stop", 600);
  receiver.script = async () => {
    await held.promise;
    return 200;
  };
  const stopped = testbed.newest().stop();
  await until("released leases", async () => (await leasedRows()).length <= perEndpoint);
  held.resolve();
  assert.equal(await stopped, 0);
  assert.deepEqual(await leasedRows(), []);
  await testbed.startNode();
  await receiver.until("every event", () => receivedAt("/stop") === 600);
  const log = await testbed.untilDeliveries("all settled", id, (all) => all.every((one) => one.settledAt));
  assert.ok(log.every(({ status, attempts }) => status === "WEBHOOK_DELIVERY_STATUS_DELIVERED" && attempts === 1));
});

test("when a program is killed, another node posts what it had leased ahead", async () => {
  const { receiver, database } = testbed;
  const nodes = [testbed.newest(), await testbed.startNode()];
  const { id } = await startFlow("/killed", 1500);
  await Promise.all(nodes.map((node) => node.kill()));
  assert.ok((await leasedRows()).length > perEndpoint);
  await database.sql`update workers set beat_at = beat_at - interval '1 minute'`;
  await testbed.startNode();
  await receiver.until("every event", () => receivedAt("/killed") === 1500);
  const log = await testbed.untilDeliveries("all settled", id, (all) => all.every((one) => one.settledAt));
  assert.equal(log.length, 1500);
});
