import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { createEmailStore } from "../emails/store/emails.ts";
import { eventBounds } from "../events/store.ts";
import { firstUuidAt } from "./ids.ts";
import { dropExpiredKeys, dropOldPartitions, type PartitionedTable, partitionAt, partitioned } from "./partitions.ts";

const dayMs = 86_400_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** Creates the partition of a time in the past, as a running instance would have created it then. */
async function oldPartition(table: PartitionedTable, daysAgo: number): Promise<string> {
  const span = partitioned[table].days * dayMs;
  const start = Math.floor((Date.now() - daysAgo * dayMs) / span) * span;
  const { name, from, to } = partitionAt(table, start);
  await database.sql.unsafe(
    `create table if not exists ${name} partition of ${table} for values from ('${from}') to ('${to}')`,
  );
  return name;
}

test("old partitions are dropped except those with open mail, and the log's oldest number moves", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const finished = await Promise.all([
    oldPartition("emails", 120),
    oldPartition("recipients", 120),
    oldPartition("email_contents", 40),
  ]);
  const events = await oldPartition("events", 120);
  const openEmails = await oldPartition("emails", 200);
  const openRecipients = await oldPartition("recipients", 200);
  const old = new Date(Date.now() - 120 * dayMs);
  await sql`insert into events (workspace_id, number, id, type, payload, created_at)
    select ${workspaceId}, n, gen_random_uuid(), 'domain.updated', '{}', ${old} from generate_series(1, 5) n`;
  await sql`update event_counters set last = 5 where workspace_id = ${workspaceId}`;
  const waiting = newEmail(workspaceId, ["a@there.test"], { id: firstUuidAt(Date.now() - 200 * dayMs) });
  await createEmailStore(sql).accept(waiting);

  const dropped = await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 });
  assert.deepEqual(dropped.sort(), [...finished, events].sort());
  assert.ok(!dropped.includes(openEmails) && !dropped.includes(openRecipients));
  assert.deepEqual(await eventBounds(sql, workspaceId), { oldest: 6n, last: 5n });

  await sql`update recipients set status = 'delivered' where email_id = ${waiting.id}`;
  assert.deepEqual(
    (await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 })).sort(),
    [openEmails, openRecipients].sort(),
  );
});

test("the content of an open email is kept", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const name = await oldPartition("email_contents", 35);
  const email = newEmail(workspaceId, ["a@there.test"]);
  await createEmailStore(sql).accept(email);
  const day = new Date(Date.now() - 35 * dayMs).toISOString().slice(0, 10);
  await sql`update emails set content_day = ${day} where id = ${email.id}`;
  assert.ok(!(await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 })).includes(name));
  await sql`update emails set open = 0 where id = ${email.id}`;
  assert.ok((await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 })).includes(name));
});

test("a locked partition is left for the next run and does not delay others", async () => {
  const { sql } = database;
  const locked = await oldPartition("emails", 150);
  const free = await oldPartition("recipients", 150);
  await sql.begin(async (tx) => {
    await tx.unsafe(`lock table ${locked} in access share mode`);
    const dropped = await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 });
    assert.ok(dropped.includes(free) && !dropped.includes(locked));
  });
  assert.ok((await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 })).includes(locked));
});

test("expired idempotency keys are deleted", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await createEmailStore(sql).accept(
    newEmail(workspaceId, ["a@there.test"], { idempotency: { key: "k", requestHash: "h", keptForMs: 1000 } }),
  );
  const keys = async () => (await sql`select 1 from idempotency where workspace_id = ${workspaceId}`).length;
  await dropExpiredKeys(sql);
  assert.equal(await keys(), 1);
  await sql`update idempotency set expires_at = service_time() - interval '1 second' where workspace_id = ${workspaceId}`;
  await dropExpiredKeys(sql);
  assert.equal(await keys(), 0);
});

test("one run deletes all expired keys, in several batches", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await dropExpiredKeys(sql);
  await sql`insert into idempotency (workspace_id, key, request_hash, email_id, expires_at)
    select ${workspaceId}, n::text, 'h', gen_random_uuid(), service_time() - interval '1 minute' from generate_series(1, 12000) n`;
  assert.equal(await dropExpiredKeys(sql), 12_000);
});
