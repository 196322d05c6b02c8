import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { addEvents, addWebhook, follow } from "../../../test/harness/webhooks.ts";
import type { Sql } from "../../postgres/pool.ts";
import { deleteWebhook, getSigner, getWebhook, listWebhooks, rotateSecret, updateWebhook } from "./webhooks.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());

/** Deliveries that were added, by webhook. */
const followed = async () =>
  Object.fromEntries((await follow(sql)).webhooks.map(({ webhookId, waiting }) => [webhookId, waiting]));
const numbersOf = async (webhookId: string) =>
  (
    await sql<{ number: string }[]>`
      select event_number as number from webhook_deliveries where webhook_id = ${webhookId} order by id`
  ).map((row) => Number(row.number));

test("a webhook is read, listed newest first, changed and deleted only within its workspace", async () => {
  const ours = await makeWorkspace(sql);
  const theirs = await makeWorkspace(sql);
  const one = await addWebhook(sql, ours, { eventTypes: ["email.bounced"] });
  const two = await addWebhook(sql, ours);
  const { secret: _, ...shown } = one;
  assert.deepEqual(await getWebhook(sql, ours, one.id), shown);
  assert.equal(await getWebhook(sql, theirs, one.id), undefined);
  const ids = async (before?: string) =>
    (await listWebhooks(sql, { workspaceId: ours, before, limit: 9 })).map((w) => w.id);
  assert.deepEqual(await ids(), [one.id, two.id].sort().reverse());
  assert.equal((await ids((await ids())[0])).length, 1);

  const changed = await updateWebhook(sql, ours, one.id, { description: "orders", eventTypes: [] });
  assert.equal(changed?.description, "orders");
  assert.deepEqual(changed?.eventTypes, []);
  assert.equal(changed?.url, one.url);
  assert.equal(await updateWebhook(sql, theirs, one.id, { description: "mine" }), undefined);
  assert.equal(await deleteWebhook(sql, theirs, one.id), undefined);
  assert.equal((await deleteWebhook(sql, ours, one.id))?.id, one.id);
  assert.equal(await getWebhook(sql, ours, one.id), undefined);
});

test("after a rotation the previous secret signs for a limited time, and never more than two do", async () => {
  const workspaceId = await makeWorkspace(sql);
  const { id } = await addWebhook(sql, workspaceId);
  const rotate = (sealedSecret: string) =>
    rotateSecret(sql, { workspaceId, id, sealedSecret, previousForMs: 86_400_000 });
  const first = (await getSigner(sql, workspaceId, id))!.sealedSecrets;
  assert.equal(first.length, 1);
  const rotated = await rotate("second");
  assert.deepEqual((await getSigner(sql, workspaceId, id))!.sealedSecrets, ["second", ...first]);
  assert.equal(rotated!.previousSecretUntil!.getTime() - rotated!.updatedAt.getTime(), 86_400_000);
  await rotate("third");
  assert.deepEqual((await getSigner(sql, workspaceId, id))!.sealedSecrets, ["third", "second"]);
  await sql`update webhooks set previous_secret_until = now() - interval '1 second' where id = ${id}`;
  assert.deepEqual((await getSigner(sql, workspaceId, id))!.sealedSecrets, ["third"]);
  assert.equal((await getWebhook(sql, workspaceId, id))!.previousSecretUntil, null);
});

test("a webhook starts at the end of the log and gets every later event of its types once", async () => {
  const workspaceId = await makeWorkspace(sql);
  await addEvents(sql, workspaceId, 3);
  const all = await addWebhook(sql, workspaceId);
  const bounces = await addWebhook(sql, workspaceId, { eventTypes: ["email.bounced", "email.complained"] });
  assert.deepEqual(await followed(), {});
  await addEvents(sql, workspaceId, 2);
  await addEvents(sql, workspaceId, 1, { type: "email.bounced" });
  assert.deepEqual(await followed(), { [all.id]: 3, [bounces.id]: 1 });
  assert.deepEqual(await numbersOf(all.id), [4, 5, 6]);
  assert.deepEqual(await numbersOf(bounces.id), [6]);
  assert.deepEqual(await followed(), {});
});

test("a webhook that is far behind catches up in several calls", async () => {
  const workspaceId = await makeWorkspace(sql);
  const { id } = await addWebhook(sql, workspaceId);
  await addEvents(sql, workspaceId, 25);
  const steps: boolean[] = [];
  for (let behind = true; behind; ) {
    behind = (await follow(sql, { events: 10 })).webhooks.some((webhook) => webhook.behind);
    steps.push(behind);
  }
  assert.deepEqual(steps, [true, true, false]);
  assert.deepEqual(
    await numbersOf(id),
    Array.from({ length: 25 }, (_, i) => i + 1),
  );
});

test("several nodes that follow the log concurrently neither duplicate nor miss a delivery", async () => {
  const workspaceId = await makeWorkspace(sql);
  const webhooks = [await addWebhook(sql, workspaceId), await addWebhook(sql, workspaceId)];
  const writing = addEvents(sql, workspaceId, 60);
  const node = async () => {
    for (let i = 0; i < 30; i++) await follow(sql, { webhooks: 1, events: 7 });
  };
  await Promise.all([writing, node(), node(), node()]);
  while ((await follow(sql)).webhooks.length > 0);
  for (const { id } of webhooks) {
    const numbers = await numbersOf(id);
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      Array.from({ length: 60 }, (_, i) => i + 1),
    );
  }
});

test("a disabled webhook gets no events, and continues at the end of the log when enabled", async () => {
  const workspaceId = await makeWorkspace(sql);
  const { id } = await addWebhook(sql, workspaceId);
  const off = await updateWebhook(sql, workspaceId, id, { enabled: false });
  assert.match(off!.disabledReason!, /disabled by UpdateWebhook/);
  const again = await updateWebhook(sql, workspaceId, id, { enabled: false });
  assert.deepEqual(again!.disabledAt, off!.disabledAt, "the first time is kept");
  await addEvents(sql, workspaceId, 3);
  assert.deepEqual(await followed(), {});
  const on = await updateWebhook(sql, workspaceId, id, { enabled: true });
  assert.deepEqual([on!.disabledAt, on!.disabledReason, on!.failingSince], [null, null, null]);
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  assert.deepEqual(await numbersOf(id), [4]);
  await updateWebhook(sql, workspaceId, id, { enabled: true });
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  assert.deepEqual(await numbersOf(id), [4, 5], "enabling an enabled webhook skips no events");
});

test("a webhook whose next events were deleted continues with the oldest stored event", async () => {
  const workspaceId = await makeWorkspace(sql);
  const { id } = await addWebhook(sql, workspaceId);
  await addEvents(sql, workspaceId, 4);
  await sql`delete from events where workspace_id = ${workspaceId} and number <= 4`;
  await sql`update event_counters set oldest = 5 where workspace_id = ${workspaceId}`;
  assert.deepEqual(await followed(), {});
  await addEvents(sql, workspaceId, 1);
  await follow(sql);
  assert.deepEqual(await numbersOf(id), [5]);
});

test("a new URL resets failingSince, the same URL does not", async () => {
  const workspaceId = await makeWorkspace(sql);
  const { id, url } = await addWebhook(sql, workspaceId);
  await sql`update webhooks set failing_since = now() where id = ${id}`;
  assert.ok((await updateWebhook(sql, workspaceId, id, { url, description: "x" }))!.failingSince);
  assert.equal((await updateWebhook(sql, workspaceId, id, { url: "https://new.test/" }))!.failingSince, null);
});
