import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../test/harness/time.ts";
import { createEmailStore } from "../emails/store/emails.ts";
import { eventBounds } from "../events/store.ts";
import { firstUuidAt } from "./ids.ts";
import {
  ensurePartitions,
  listPartitions,
  type PartitionedTable,
  partitionAt,
  partitioned,
  partitionsAround,
} from "./partitions.ts";
import { dropExpiredKeys, dropOldPartitions, oldestEmailsAt } from "./retention.ts";

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
  const { name, from, to, endMs } = partitionAt(table, start);
  await database.sql.unsafe(
    `create table if not exists ${name} partition of ${table} for values from ('${from}') to ('${to}')`,
  );
  await database.sql`insert into closed_partitions (name, closed_at) values (${name}, ${new Date(endMs)})`;
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
  assert.deepEqual(await eventBounds(sql, workspaceId), { oldest: 6n, last: 5n, cuts: [] });

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

for (const [owner, companion] of [
  ["webhook_deliveries", "webhook_attempts"],
  ["emails", "email_terms"],
  ["emails", "email_message_ids"],
] as const) {
  test(`a partition of ${companion} is dropped with its partition of ${owner}`, async () => {
    const [owners, own] = [await oldPartition(owner, 250), await oldPartition(companion, 250)];
    const dropped = await drop();
    assert.ok(dropped.includes(owners));
    const names = await partitionNames();
    assert.ok(!names.has(owners) && !names.has(own));
    assert.equal((await database.sql`select 1 from closed_partitions where name in (${owners}, ${own})`).length, 0);
  });

  test(`a partition of ${companion} is dropped alone if an earlier program has dropped its partition of ${owner}`, async () => {
    const { sql } = database;
    const [owners, own] = [await oldPartition(owner, 250), await oldPartition(companion, 250)];
    await sql.unsafe(`drop table ${owners}`);
    // An earlier program removes the entries of partitions that it does not know.
    await sql`delete from closed_partitions where name in (${owners}, ${own})`;
    await ensurePartitions(sql);
    assert.ok(!(await drop()).includes(own), "its time starts again");
    await sql`update closed_partitions set closed_at = closed_at - interval '91 days' where name = ${own}`;
    assert.ok((await drop()).includes(own));
    assert.ok(!(await partitionNames()).has(own));
  });
}

test("a waiting delivery keeps its partition and that of its attempts", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const [deliveries, attempts] = [
    await oldPartition("webhook_deliveries", 300),
    await oldPartition("webhook_attempts", 300),
  ];
  const old = Date.now() - 300 * dayMs;
  await sql`insert into webhook_deliveries (workspace_id, webhook_id, id, event_number, event_id, event_type, event_at, due_at)
    values (${workspaceId}, gen_random_uuid(), ${firstUuidAt(old)}, 1, gen_random_uuid(), 'email.sent', ${new Date(old)}, service_time())`;
  await drop();
  const kept = await partitionNames();
  assert.ok(kept.has(deliveries) && kept.has(attempts));
  await sql`update webhook_deliveries set status = 'failed', settled_at = now() where workspace_id = ${workspaceId}`;
  await drop();
  const left = await partitionNames();
  assert.ok(!left.has(deliveries) && !left.has(attempts));
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

const retention = { contentDays: 30, historyDays: 90 };

async function partitionNames(): Promise<Set<string>> {
  return new Set((await listPartitions(database.sql)).map(({ name }) => name));
}

function partitionsNow() {
  return (Object.keys(partitioned) as PartitionedTable[]).flatMap((table) => partitionsAround(table, Date.now()));
}

async function drop(): Promise<string[]> {
  return await dropOldPartitions(database.sql, retention, 0);
}

/** The database's clock jumps, and a program follows it. */
async function jump(days: number): Promise<void> {
  await shiftWallTime(database.sql, `${days} days`);
  await ensurePartitions(database.sql);
}

test("jumps of the database's clock drop nothing, and partitions are kept for their time from the last write on", async () => {
  const { sql } = await isolated();
  await ensurePartitions(sql);
  const before = await partitionNames();
  for (const days of [3, -3, 30, -30, 400, 0]) {
    await jump(days);
    const dropped = await drop();
    assert.deepEqual(dropped, [], `${days} days`);
  }
  const all = await partitionNames();
  for (const name of before) assert.ok(all.has(name), name);
  // Partitions of the future are closed since the clock is back, and older ones since it left them.
  await passServiceTime(sql, "29 days");
  assert.deepEqual(await drop(), []);
  await passServiceTime(sql, "2 days");
  const contents = await drop();
  assert.ok(contents.some((name) => name.startsWith("email_contents_p")));
  assert.ok(contents.every((name) => /^(email_contents|inbound_messages|inbound_contents)_p/.test(name)));
  await passServiceTime(sql, "60 days");
  await drop();
  const left = await listPartitions(sql);
  assert.deepEqual(
    left.filter(({ startMs }) => Math.abs(startMs - Date.now()) > 50 * dayMs),
    [],
    "those of other times are gone",
  );
  const names = new Set(left.map(({ name }) => name));
  for (const { name } of partitionsNow()) assert.ok(names.has(name), name);
});

test("a partition is open again when the clock goes back into it, and its time starts anew", async () => {
  const { sql } = await isolated();
  await jump(400);
  const future = [...(await partitionNames())].filter((name) => name.startsWith("events_p")).at(-2)!;
  await jump(0);
  await passServiceTime(sql, "89 days");
  await jump(400);
  assert.equal((await sql`select 1 from closed_partitions where name = ${future}`).length, 0);
  await jump(0);
  await passServiceTime(sql, "2 days");
  assert.ok(!(await drop()).includes(future));
  await passServiceTime(sql, "89 days");
  assert.ok((await drop()).includes(future));
});

test("events from a time when the clock was ahead are kept until those before them are past retention", async () => {
  const { sql } = await isolated();
  const workspaceId = await makeWorkspace(sql);
  const append = (number: number) => appendEvent(workspaceId, number);
  await append(1);
  await jump(400);
  await append(2);
  await jump(0);
  await append(3);
  await passServiceTime(sql, "100 days");
  await drop();
  assert.deepEqual(await eventBounds(sql, workspaceId), { oldest: 1n, last: 3n, cuts: [] });
  assert.equal((await sql`select 1 from events where workspace_id = ${workspaceId}`).length, 3);
  await jump(30);
  await passServiceTime(sql, "100 days");
  await drop();
  assert.deepEqual(await eventBounds(sql, workspaceId), { oldest: 4n, last: 3n, cuts: [] });
  assert.equal((await sql`select 1 from events where workspace_id = ${workspaceId}`).length, 0);
});

test("partitions that each have earlier events than the other, of two workspaces, are dropped together", async () => {
  const { sql } = await isolated();
  const [a, b] = [await makeWorkspace(sql), await makeWorkspace(sql)];
  await appendEvent(a, 1);
  await jump(400);
  await appendEvent(a, 2);
  await appendEvent(b, 1);
  await jump(0);
  await appendEvent(a, 3);
  await appendEvent(b, 2);
  await passServiceTime(sql, "100 days");
  await drop();
  assert.deepEqual(await storedEvents(), { [a]: [1, 2, 3], [b]: [1, 2] }, "the partition of this week is still in use");
  await jump(30);
  await appendEvent(a, 4);
  await appendEvent(b, 3);
  await passServiceTime(sql, "100 days");
  await drop();
  assert.deepEqual(await storedEvents(), { [a]: [4], [b]: [3] });
  assert.deepEqual(await eventBounds(sql, a), { oldest: 4n, last: 4n, cuts: [] });
  assert.deepEqual(await eventBounds(sql, b), { oldest: 3n, last: 3n, cuts: [] });
});

test("a partition of events stays while a partition in use has an event between its events", async () => {
  const { sql } = await isolated();
  const workspaceId = await makeWorkspace(sql);
  await appendEvent(workspaceId, 1);
  await jump(30);
  await appendEvent(workspaceId, 2);
  await jump(0);
  await appendEvent(workspaceId, 3);
  await jump(30);
  await passServiceTime(sql, "100 days");
  await drop();
  assert.deepEqual(await storedEvents(), { [workspaceId]: [1, 2, 3] });
  assert.deepEqual(await eventBounds(sql, workspaceId), { oldest: 1n, last: 3n, cuts: [] });
});

async function appendEvent(workspaceId: string, number: number): Promise<void> {
  const { sql } = database;
  await sql`update event_counters set last = ${number} where workspace_id = ${workspaceId}`;
  await sql`insert into events (workspace_id, number, id, type, payload, created_at)
    values (${workspaceId}, ${number}, gen_random_uuid(), 'domain.updated', '{}', (select stamp_time()))`;
}

/** The numbers of the stored events by workspace. */
async function storedEvents(): Promise<Record<string, number[]>> {
  const rows = await database.sql<{ id: string; numbers: string[] }[]>`
    select workspace_id as id, array_agg(number::text order by number) as numbers from events group by workspace_id`;
  return Object.fromEntries(rows.map(({ id, numbers }) => [id, numbers.map(Number)]));
}

test("figures are kept as long as the oldest partition of emails", async () => {
  const { sql } = await isolated();
  const oldest = await oldestEmailsAt(sql);
  await jump(400);
  assert.deepEqual(await oldestEmailsAt(sql), oldest);
});

/** A database for one test, because the clock of the others stays. */
async function isolated(): Promise<TestDatabase> {
  await database.drop();
  database = await createTestDatabase();
  return database;
}
