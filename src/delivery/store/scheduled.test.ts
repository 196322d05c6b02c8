import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { holdLock } from "../../../test/harness/held-lock.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { createEmailStore, type NewEmail } from "../../emails/store/emails.ts";
import { positionBefore, recordLag, rescheduleSome, type ScheduledPosition } from "./scheduled.ts";

const hourMs = 3_600_000;
let database: TestDatabase;
let workspaceId: string;
beforeEach(async () => {
  database = await createTestDatabase();
  workspaceId = await makeWorkspace(database.sql);
});
afterEach(async () => await database.drop());

async function accept(extra: Partial<NewEmail> = {}): Promise<NewEmail> {
  const email = newEmail(workspaceId, ["a@there.test"], extra);
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  return email;
}

const scheduledIn = (hours: number) => accept({ scheduledAt: new Date(Date.now() + hours * hourMs) });

/** Wall time is this much further ahead of service time than when the mail was accepted. */
const addLag = (hours: number) =>
  database.sql`update service_clock set service_at = service_at - ${hours} * interval '1 hour'`;

async function rescheduleAll(limit = 100): Promise<number> {
  let batches = 0;
  for (let next: ScheduledPosition | undefined = positionBefore(Date.now() - hourMs); next; batches++)
    next = await rescheduleSome(database.sql, next, limit);
  return batches;
}

/** Minutes from service time until the recipient is due, and from then until the default expiry. */
async function timesOf({ id }: NewEmail): Promise<[number, number | null]> {
  const [row] = await database.sql<{ due: number; keeps: number | null }[]>`
    select round(extract(epoch from r.due_at - service_time()) / 60)::int as due,
      round(extract(epoch from e.default_expires_at - r.due_at) / 60)::int as keeps
    from recipients r join emails e on e.id = r.email_id where r.email_id = ${id}`;
  return [row!.due, row!.keeps];
}

test("due times and default expiries follow the lag between wall time and service time", async () => {
  const email = await scheduledIn(5);
  const named = await accept({
    scheduledAt: new Date(Date.now() + 5 * hourMs),
    expiresAt: new Date(Date.now() + 6 * hourMs),
  });
  const unscheduled = await accept();
  await addLag(2);
  // Service time went back with the row, so until the new computation all three are due two hours later than they should be.
  assert.deepEqual(await timesOf(email), [7 * 60, 48 * 60]);
  assert.equal(await rescheduleAll(), 1);
  assert.deepEqual(await timesOf(email), [5 * 60, 48 * 60]);
  assert.deepEqual(await timesOf(named), [5 * 60, null], "an expiry that the caller named stays");
  assert.deepEqual(await timesOf(unscheduled), [2 * 60, 48 * 60], "mail without scheduledAt is not touched");
});

test("mail whose time has passed meanwhile is due now", async () => {
  const email = await scheduledIn(1);
  await database.sql`update service_clock set wall_at = wall_at + interval '3 hours'`;
  await rescheduleAll();
  assert.equal((await timesOf(email))[0], 0);
});

test("batches of any size cover every email once", async () => {
  const at = new Date(Date.now() + 5 * hourMs);
  // Three emails have the same time, so a batch can end between them.
  const emails = [...(await Promise.all([1, 2, 3].map(() => accept({ scheduledAt: at })))), await scheduledIn(6)];
  await addLag(2);
  assert.equal(await rescheduleAll(2), 3, "two full batches and an empty one");
  assert.deepEqual(await Promise.all(emails.map(async (email) => (await timesOf(email))[0])), [300, 300, 300, 360]);
});

test("recipients that were attempted, are leased or are locked keep their due time", async () => {
  const [attempted, leased, locked] = [await scheduledIn(5), await scheduledIn(5), await scheduledIn(5)];
  await database.sql`update recipients set attempts = 1 where email_id = ${attempted.id}`;
  await database.sql`update recipients set lease = 1 where email_id = ${leased.id}`;
  await addLag(2);
  const lock = await holdLock(database.url, `select 1 from recipients where email_id = '${locked.id}' for update`);
  await rescheduleAll();
  for (const email of [attempted, leased, locked]) assert.equal((await timesOf(email))[0], 7 * 60);
  await lock.release();
  await rescheduleAll();
  assert.equal((await timesOf(locked))[0], 5 * 60, "the next pass finds it");
});

test("the lag is recorded", async () => {
  await recordLag(database.sql, 7_200_000);
  const [row] = await database.sql<{ lag: number }[]>`
    select extract(epoch from scheduled_lag)::int as lag from service_clock`;
  assert.equal(row!.lag, 7200);
});
