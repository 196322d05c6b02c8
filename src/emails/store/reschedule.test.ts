import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { readParts } from "../../../test/harness/contents.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { createEmailStore, type NewEmail } from "./emails.ts";
import { getEmail } from "./reads.ts";
import { rescheduleEmail } from "./reschedule.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const inMs = (ms: number) => new Date(Date.now() + ms);
const dayOf = (at: Date) => at.toISOString().slice(0, 10);

let database: TestDatabase;
let workspaceId: string;
beforeEach(async () => {
  database = await createTestDatabase();
  workspaceId = await makeWorkspace(database.sql);
});
afterEach(async () => await database.drop());

async function accept(extra: Partial<NewEmail> = {}): Promise<NewEmail> {
  const email = newEmail(workspaceId, ["a@there.test", "b@other.test"], { scheduledAt: inMs(5 * dayMs), ...extra });
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  return email;
}

const reschedule = ({ id }: NewEmail, at: Date) =>
  database.sql.begin(async (tx) => await rescheduleEmail(tx, { workspaceId, id }, at));

/** Minutes from service time until each recipient is due, and from then until the default expiry. */
async function timesOf({ id }: NewEmail): Promise<[number[], number | null]> {
  const rows = await database.sql<{ due: number; keeps: number | null }[]>`
    select round(extract(epoch from r.due_at - service_time()) / 60)::int as due,
      round(extract(epoch from e.default_expires_at - r.due_at) / 60)::int as keeps
    from recipients r join emails e on e.id = r.email_id where r.email_id = ${id} order by r.position`;
  return [rows.map(({ due }) => due), rows[0]!.keeps];
}

async function contentDays({ id }: NewEmail): Promise<string[]> {
  const rows = await database.sql<{ day: string }[]>`
    select distinct day::text from email_contents where email_id = ${id} order by 1`;
  return rows.map(({ day }) => day);
}

/** Bytes by day and slot. */
async function sizes(): Promise<Record<string, number>> {
  const rows = await database.sql<{ day: string; bytes: number }[]>`
    select day::text, sum(bytes)::int as bytes from content_sizes where workspace_id = ${workspaceId} group by day order by day`;
  return Object.fromEntries(rows.map(({ day, bytes }) => [day, bytes]));
}

for (const [name, days] of [
  ["later", 29],
  ["earlier", 1],
] as const)
  test(`due time, expiry, content and its size move ${name} with the email`, async () => {
    const email = await accept();
    const before = (await getEmail(database.sql, workspaceId, email.id))!;
    const at = inMs(days * dayMs);
    assert.deepEqual(await reschedule(email, at), { isChanged: true, destinations: [] });
    assert.deepEqual(await timesOf(email), [[days * 1440, days * 1440], 48 * 60]);
    const row = (await getEmail(database.sql, workspaceId, email.id))!;
    assert.deepEqual(row.scheduledAt, at);
    assert.equal(row.expiresAt.getTime() - at.getTime(), 48 * hourMs);
    assert.ok(row.updatedAt > before.updatedAt);
    assert.deepEqual({ ...row.counts }, { ...before.counts });
    assert.equal(row.contentDay, dayOf(at));
    assert.deepEqual(await contentDays(email), [dayOf(at)]);
    assert.deepEqual(await sizes(), { [before.contentDay]: 0, [dayOf(at)]: 5 });
    const key = { workspaceId, emailId: email.id, day: row.contentDay };
    assert.deepEqual(await readParts(database.sql, key), email.parts);
  });

test("a time in the past makes the email due at once, and a repeated call changes nothing", async () => {
  const email = await accept();
  const past = inMs(-minuteMs);
  assert.deepEqual(await reschedule(email, past), { isChanged: true, destinations: ["there.test", "other.test"] });
  const row = (await getEmail(database.sql, workspaceId, email.id))!;
  assert.ok(
    Math.abs(row.scheduledAt!.getTime() - Date.now()) < 30_000,
    "the time of the call, for Date and statistics",
  );
  assert.deepEqual(await timesOf(email), [[0, 0], 48 * 60]);
  assert.deepEqual(await reschedule(email, past), { isChanged: false, destinations: [] });
  assert.deepEqual(await getEmail(database.sql, workspaceId, email.id), row);
});

test("content of many pieces moves completely, and that of other emails stays", async () => {
  const parts = ['{"text":"x","html":""}', "A".repeat(1_500_000), "B", "C".repeat(262_144)];
  const email = await accept({ parts, sizeBytes: 1_300_000 });
  const other = await accept({ parts: ["{}", "D"] });
  const at = inMs(9 * dayMs);
  await reschedule(email, at);
  assert.deepEqual(await contentDays(email), [dayOf(at)]);
  const key = { workspaceId, emailId: email.id, day: dayOf(at) };
  assert.deepEqual(await readParts(database.sql, key), parts);
  assert.deepEqual(await contentDays(other), [dayOf(other.scheduledAt!)]);
  assert.deepEqual(await sizes(), { [dayOf(other.scheduledAt!)]: 5, [dayOf(at)]: 1_300_000 });
});

test("the bytes of each slot stay the same in sum, in whichever slot the email was counted", async () => {
  const { sql } = database;
  const store = createEmailStore(sql);
  const emails = Array.from({ length: 6 }, (_, i) =>
    newEmail(workspaceId, ["a@there.test"], { scheduledAt: inMs(5 * dayMs), sizeBytes: 100 * (i + 1) }),
  );
  for (const email of emails) await store.accept(email);
  const bySlot = async () => [
    ...(await sql`select slot, sum(bytes)::int as bytes, min(bytes) >= 0 as positive from content_sizes group by slot order by slot`),
  ];
  const before = await bySlot();
  assert.ok(before.length > 1, "several slots");
  for (const [i, email] of emails.entries()) await reschedule(email, inMs((i % 3) * 3 * dayMs + hourMs));
  const at = inMs(8 * dayMs);
  for (const email of emails) await reschedule(email, at);
  assert.deepEqual(await bySlot(), before);
  assert.deepEqual((await sizes())[dayOf(at)], 2100);
});

test("all bytes of emails that were counted in several slots move with them, and none of others", async () => {
  const { sql } = database;
  const store = createEmailStore(sql);
  const [small, large] = [90, 100].map((sizeBytes) =>
    newEmail(workspaceId, ["a@there.test"], { scheduledAt: inMs(5 * dayMs), sizeBytes }),
  );
  for (const email of [small!, large!]) await store.accept(email);
  // The larger one first, because a tie of slots ends with the first.
  const slots = await sql`update content_sizes set slot = case bytes when 100 then 21 else 22 end returning slot`;
  assert.equal(slots.length, 2);
  const at = inMs(8 * dayMs);
  for (const email of [small!, large!]) await reschedule(email, at);
  assert.deepEqual(await sizes(), { [dayOf(small!.scheduledAt!)]: 0, [dayOf(at)]: 190 });
});

test("one email cannot keep the partition of its week, in which other workspaces have mail, for ever", async () => {
  const email = await accept();
  await database.sql`update emails set created_at = created_at - interval '40 days' where id = ${email.id}`;
  await reschedule(email, inMs(19 * dayMs));
  await assert.rejects(reschedule(email, inMs(21 * dayMs)), { code: "invalid_argument" });
  assert.deepEqual((await timesOf(email))[0], [19 * 1440, 19 * 1440]);
});

test("an expiry that the sender named stays", async () => {
  const expiresAt = inMs(6 * dayMs);
  const email = await accept({ expiresAt });
  await reschedule(email, inMs(3 * dayMs));
  assert.deepEqual((await getEmail(database.sql, workspaceId, email.id))!.expiresAt, expiresAt);
  assert.deepEqual(await timesOf(email), [[3 * 1440, 3 * 1440], null]);
  await assert.rejects(reschedule(email, inMs(6 * dayMs + minuteMs)), { code: "invalid_argument" });
  assert.deepEqual(await timesOf(email), [[3 * 1440, 3 * 1440], null]);
});

test("the new time is a wall time, whatever service time shows", async () => {
  const { sql } = database;
  const email = await accept();
  // Programs were stopped for 4 hours: wall time has gone ahead of service time.
  await sql`update service_clock set wall_at = wall_at + interval '4 hours'`;
  await shiftWallTime(sql, "4 hours");
  await reschedule(email, inMs(10 * hourMs));
  assert.deepEqual(await timesOf(email), [[360, 360], 48 * 60], "6 hours from the database's clock");
  await passServiceTime(sql, "2 hours");
  await reschedule(email, inMs(4 * hourMs - minuteMs));
  assert.deepEqual(await timesOf(email), [[0, 0], 48 * 60]);
});

test("now is due at once although no heartbeat has noticed a jump of the clock", async () => {
  const email = await accept({ scheduledAt: inMs(20 * dayMs) });
  await shiftWallTime(database.sql, "3 days");
  await reschedule(email, inMs(3 * dayMs - minuteMs));
  assert.deepEqual((await timesOf(email))[0], [0, 0]);
  const row = (await getEmail(database.sql, workspaceId, email.id))!;
  assert.deepEqual(await contentDays(email), [dayOf(row.scheduledAt!)]);
});

test("an email of another workspace, and one that was deleted, is not found", async () => {
  const email = await accept();
  const elsewhere = await makeWorkspace(database.sql);
  const other = database.sql.begin(
    async (tx) => await rescheduleEmail(tx, { workspaceId: elsewhere, id: email.id }, inMs(hourMs)),
  );
  assert.equal(await other, undefined);
  assert.deepEqual(await timesOf(email), [[5 * 1440, 5 * 1440], 48 * 60]);
});
