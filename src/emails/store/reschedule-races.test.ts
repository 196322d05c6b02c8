/** UpdateEmail while other statements use the same rows: leases, expiry, new due times after a jump of the clock, cancellation, deletion of the
 * workspace and retention. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { readParts } from "../../../test/harness/contents.ts";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { holdLock } from "../../../test/harness/held-lock.ts";
import { makeWorkspace, newEmail, settlement } from "../../../test/harness/mail.ts";
import { passServiceTime, shiftWallTime } from "../../../test/harness/time.ts";
import { until } from "../../../test/harness/wait.ts";
import { type Leased, leaseDue, leaseExpired, releaseLease } from "../../delivery/store/lease.ts";
import { positionBefore, rescheduleSome } from "../../delivery/store/scheduled.ts";
import { settle } from "../../delivery/store/settle.ts";
import { deleteToEnd } from "../../operators/deletion.ts";
import { beginDeletion } from "../../operators/store/deletion.ts";
import { silentLog } from "../../ops/log.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { openDb, type Sql } from "../../postgres/pool.ts";
import { dropOldPartitions } from "../../postgres/retention.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { forgetDroppedContent } from "../../quotas/store/standing.ts";
import { readContents } from "./content.ts";
import { createEmailStore, type NewEmail } from "./emails.ts";
import { cancelEmail, getEmail } from "./reads.ts";
import { rescheduleEmail } from "./reschedule.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const inMs = (ms: number) => new Date(Date.now() + ms);

let database: TestDatabase;
let workspaceId: string;
let workerId: number;
beforeEach(async () => {
  database = await createTestDatabase();
  workspaceId = await makeWorkspace(database.sql);
  workerId = await registerWorker(database.sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
});
afterEach(async () => await database.drop());

async function accept(extra: Partial<NewEmail> = {}): Promise<NewEmail> {
  const email = newEmail(workspaceId, ["a@there.test"], { scheduledAt: inMs(hourMs), ...extra });
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  return email;
}

const reschedule = ({ id }: NewEmail, at: Date) =>
  database.sql.begin(async (tx) => await rescheduleEmail(tx, { workspaceId, id }, at));

const lane = () => ({ destination: "there.test", workspaceId, quota: 100 });
let leases = 0;
const lease = (sql: Sql = database.sql) => leaseDue(sql, makeLease(workerId, ++leases), [lane()]);

/** Minutes from service time until the recipient is due, and until the default expiry. */
async function timesOf({ id }: NewEmail): Promise<[number, number | null]> {
  const [row] = await database.sql<{ due: number; expires: number | null }[]>`
    select round(extract(epoch from r.due_at - service_time()) / 60)::int as due,
      round(extract(epoch from e.default_expires_at - service_time()) / 60)::int as expires
    from recipients r join emails e on e.id = r.email_id where r.email_id = ${id}`;
  return [row!.due, row!.expires];
}

const waiters = () => database.sql`
  select 1 from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()`;
const untilBlocked = () => until("a statement to wait for a lock", async () => (await waiters()).length > 0);

/** Starts `work` in a session in which statements that write stop after they have taken their snapshot, runs `meanwhile`, and lets them go on. */
async function afterSnapshot<T>(offset: string, work: (gated: Sql) => Promise<T>, meanwhile: () => Promise<unknown>) {
  const { sql, url } = database;
  await sql.unsafe(`create or replace function wall_time() returns timestamptz language plpgsql volatile as $$
    begin
      if current_setting('application_name') = 'gated' and current_query() like '%update recipients%' then perform pg_advisory_xact_lock_shared(77); end if;
      return clock_timestamp() + interval '${offset}';
    end $$`);
  const gated = openDb({ url, pool: 1, log: silentLog(), name: "gated" });
  const gate = await holdLock(url, "select pg_advisory_xact_lock(77)");
  const working = work(gated);
  working.catch(() => {});
  await untilBlocked();
  await meanwhile();
  await gate.release();
  const result = await working;
  await gated.end();
  return result;
}

test("a lease that began before the change does not take the email, and the next one finds it only at its new time", async () => {
  const email = await accept();
  const now = await accept();
  await database.sql`update recipients set due_at = service_time() - interval '1 second'`;
  const rows = await afterSnapshot("0 hours", lease, async () => {
    await reschedule(email, inMs(3 * hourMs));
    await reschedule(now, inMs(-minuteMs));
  });
  assert.deepEqual(rows, [], "neither with its old time nor with its old Date");
  assert.equal((await timesOf(email))[0], 180);
  const [next, ...others] = await lease();
  assert.equal(next!.emailId, now.id);
  assert.deepEqual(others, []);
  assert.deepEqual(next!.email.date, (await getEmail(database.sql, workspaceId, now.id))!.scheduledAt);
  assert.equal(next!.early, false);
});

test("while the change is open, no lease takes the email or waits for it", async () => {
  const email = await accept();
  await database.sql`update recipients set due_at = service_time() - interval '1 second'`;
  await database.sql.begin(async (tx) => {
    await rescheduleEmail(tx, { workspaceId, id: email.id }, inMs(2 * hourMs));
    assert.deepEqual(await lease(), []);
  });
  assert.deepEqual(await lease(), []);
});

test("an email that is leased keeps its time, also if its worker is dead", async () => {
  const email = await accept();
  await database.sql`update recipients set due_at = service_time() - interval '1 second'`;
  const [row] = await lease();
  await assert.rejects(reschedule(email, inMs(2 * hourMs)), /is being sent right now/);
  await passServiceTime(database.sql, "2 minutes");
  await assert.rejects(reschedule(email, inMs(2 * hourMs)), /is being sent right now/);
  await releaseLease(database.sql, [row!]);
  assert.equal((await reschedule(email, inMs(2 * hourMs)))!.isChanged, true);
  await database.sql`update recipients set due_at = service_time() - interval '1 second'`;
  const [again] = await lease();
  await settle(database.sql, [settlement(again!, "delayed")]);
  await assert.rejects(reschedule(email, inMs(3 * hourMs)), /first attempt has been made/);
});

test("workers lease and callers reschedule the same emails: the time and the content of a leased email never change", async () => {
  const { sql } = database;
  const emails = await Promise.all(Array.from({ length: 8 }, () => accept()));
  const refused: string[] = [];
  let isOver = false;
  const callers = Array.from({ length: 3 }, async (_, caller) => {
    for (let turn = 0; turn < 60; turn++)
      await reschedule(emails[(turn * 3 + caller) % 8]!, inMs(hourMs + ((turn * 7 + caller) % 20) * dayMs)).catch(
        (error: Error) => refused.push(error.message),
      );
  });
  let leased = 0;
  const checkLeased = async (rows: Leased[]) => {
    for (const { email } of rows) {
      const now = (await getEmail(sql, workspaceId, email.id))!;
      assert.deepEqual([email.date, email.contentDay], [now.scheduledAt, now.contentDay]);
      const key = { workspaceId, emailId: email.id, day: email.contentDay };
      assert.ok((await readContents(sql, [key])).has(email.id), "the content is where the lease says");
    }
    leased += rows.length;
  };
  const workers = Array.from({ length: 2 }, async () => {
    const own = await registerWorker(sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
    for (let turn = 1; !isOver; turn++) {
      // As if the time of all had come, so that leases and changes meet.
      await sql`update recipients set due_at = service_time() - interval '1 second' where (email_id, position) in (
        select email_id, position from recipients where lease is null for update skip locked)`;
      const rows = await leaseDue(sql, makeLease(own, turn), [{ ...lane(), quota: 3 }]);
      await checkLeased(rows);
      await releaseLease(sql, rows);
    }
  });
  await Promise.all(callers);
  isOver = true;
  await Promise.all(workers);
  assert.ok(leased > 20, `${leased} leases`);
  assert.deepEqual(
    refused.filter((message) => !message.includes("is being sent right now")),
    [],
  );
  const [rest] = await sql`
    select count(*)::int as pieces, count(*) filter (where c.day = e.content_day)::int as placed
    from email_contents c join emails e on e.id = c.email_id`;
  assert.deepEqual(rest, { pieces: 8, placed: 8 });
});

test("an email that got a later expiry does not expire by the earlier one", async () => {
  const email = await accept({ scheduledAt: inMs(hourMs), retryForMs: hourMs });
  const scan = { destination: "there.test", workspaceId, after: undefined, limit: 10 };
  const changed = Promise.withResolvers<void>();
  const committed = Promise.withResolvers<void>();
  const change = database.sql.begin(async (tx) => {
    await rescheduleEmail(tx, { workspaceId, id: email.id }, inMs(9 * hourMs));
    changed.resolve();
    await committed.promise;
  });
  await changed.promise;
  await passServiceTime(database.sql, "3 hours");
  const { rows } = await afterSnapshot(
    "3 hours",
    (gated) => leaseExpired(gated, makeLease(workerId, ++leases), scan),
    async () => {
      committed.resolve();
      await change;
    },
  );
  assert.deepEqual(rows, []);
});

test("new due times after a jump of the clock do not undo a change", async () => {
  const [earlier, later, other] = [await accept(), await accept(), await accept()];
  // All are due three hours too late until the pass.
  await database.sql`update service_clock set service_at = service_at - interval '3 hours'`;
  await afterSnapshot(
    "0 hours",
    (gated) => rescheduleSome(gated, positionBefore(Date.now() - hourMs), 100),
    async () => {
      await reschedule(earlier, inMs(10 * minuteMs));
      await reschedule(later, inMs(7 * hourMs));
    },
  );
  assert.deepEqual(await timesOf(earlier), [10, 10 + 48 * 60]);
  assert.deepEqual(await timesOf(later), [7 * 60, 7 * 60 + 48 * 60]);
  assert.deepEqual(await timesOf(other), [60, 60 + 48 * 60]);
});

test("a cancellation and a change wait for each other, and the second one sees the first", async () => {
  const { sql } = database;
  const cancel = ({ id }: NewEmail, on: Sql = sql) =>
    cancelEmail(on, { workspaceId, id, eventId: makeUuid(Date.now()) });
  const first = await accept();
  let canceling: ReturnType<typeof cancel>;
  await sql.begin(async (tx) => {
    await rescheduleEmail(tx, { workspaceId, id: first.id }, inMs(2 * hourMs));
    canceling = cancel(first);
    await untilBlocked();
  });
  assert.deepEqual((await canceling!).canceled, ["a@there.test"]);
  const second = await accept();
  let changing: ReturnType<typeof reschedule>;
  await sql.begin(async (tx) => {
    await cancel(second, tx);
    changing = reschedule(second, inMs(2 * hourMs));
    changing.catch(() => {});
    await untilBlocked();
  });
  await assert.rejects(changing!, /was canceled/);
  assert.equal((await getEmail(sql, workspaceId, second.id))!.status, "failed");
});

test("twenty concurrent calls end with one of their times, and the content is at its day", async () => {
  const email = await accept({ parts: ["{}", "A".repeat(600_000)] });
  const times = Array.from({ length: 20 }, (_, i) => inMs(hourMs + i * dayMs));
  await Promise.all(times.map((at) => reschedule(email, at)));
  const row = (await getEmail(database.sql, workspaceId, email.id))!;
  assert.ok(times.some((at) => at.getTime() === row.scheduledAt!.getTime()));
  const key = { workspaceId, emailId: email.id, day: row.contentDay };
  assert.deepEqual(await readParts(database.sql, key), email.parts);
  const days = await database.sql`select distinct day::text from email_contents where email_id = ${email.id}`;
  assert.deepEqual([...days], [{ day: row.contentDay }]);
});

test("a workspace that is deleted during a change leaves no rows", async () => {
  const { sql } = database;
  const email = await accept({ parts: ["{}", "A".repeat(600_000)] });
  let deleting: Promise<boolean>;
  await sql.begin(async (tx) => {
    await rescheduleEmail(tx, { workspaceId, id: email.id }, inMs(9 * dayMs));
    await sql.begin((other) => beginDeletion(other, workspaceId));
    deleting = deleteToEnd(sql, workspaceId, { shortestPauseMs: 0 });
    deleting.catch(() => {});
    await untilBlocked();
  });
  assert.equal(await deleting!, true);
  assert.equal(await reschedule(email, inMs(2 * hourMs)), undefined);
  for (const table of ["emails", "recipients", "email_contents", "content_sizes"])
    assert.equal((await sql.unsafe(`select 1 from ${table}`)).length, 0, table);
});

test("retention keeps the content of an email that was moved later, and drops that of one moved earlier with its new day", async () => {
  const { sql } = database;
  const retention = { contentDays: 3, historyDays: 90 };
  const later = await accept({ scheduledAt: inMs(2 * dayMs) });
  const sooner = await accept({ scheduledAt: inMs(20 * dayMs) });
  await reschedule(later, inMs(20 * dayMs));
  await reschedule(sooner, inMs(2 * dayMs));
  const hasContent = async ({ id }: NewEmail) => (await getEmail(sql, workspaceId, id))!.hasContent;
  const passDays = async (days: number, wall: number) => {
    await shiftWallTime(sql, `${wall} days`);
    await passServiceTime(sql, `${days} days`);
    await ensurePartitions(sql);
    await dropOldPartitions(sql, retention, 0);
    await forgetDroppedContent(sql);
  };
  await passDays(10, 10);
  await passDays(10, 10);
  assert.deepEqual([await hasContent(later), await hasContent(sooner)], [true, true], "both emails are open");
  await sql`update emails set open = 0 where id = ${sooner.id}`;
  await passDays(1, 10);
  assert.deepEqual([await hasContent(later), await hasContent(sooner)], [true, false]);
  const bytes =
    await sql`select sum(stored_bytes)::int as stored from workspace_usage where workspace_id = ${workspaceId}`;
  assert.deepEqual([...bytes], [{ stored: 5 }]);
});
