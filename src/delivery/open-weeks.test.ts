import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail, settlement } from "../../test/harness/mail.ts";
import { countRowsRead } from "../../test/harness/rows-read.ts";
import { shiftWallTime } from "../../test/harness/time.ts";
import { storeBatch } from "../emails/store/batches.ts";
import { makeUuid } from "../postgres/ids.ts";
import { partitionAt } from "../postgres/partitions.ts";
import { weekAt } from "../postgres/weeks.ts";
import { makeLease, registerWorker } from "../postgres/workers.ts";
import { createOpenWeeks } from "./open-weeks.ts";
import { findOpenWeeks } from "./store/open-weeks.ts";
import { settle } from "./store/settle.ts";

const weekMs = 7 * 86_400_000;
const destination = "there.test";
let database: TestDatabase;
let workspaceId: string;
let lease: string;
before(async () => {
  database = await createTestDatabase();
  lease = makeLease(await registerWorker(database.sql, { host: "h", pid: 1, roles: ["delivery"], version: "t" }), 1);
});
beforeEach(async () => {
  await database.sql`truncate emails, recipients`;
  await setClock(weekAt(Date.now()) + weekMs / 2);
  workspaceId = await makeWorkspace(database.sql);
});
after(async () => await database.drop());

/** Moves the database's clock, and the time for which partitions were ensured. */
async function setClock(ms: number): Promise<void> {
  await shiftWallTime(database.sql, `${Math.round((ms - Date.now()) / 1000)} seconds`);
  await database.sql`update service_clock set partitions_at = wall_time()`;
}

/** Emails with ids of these weeks, counted from this one. */
async function store(...weeks: number[]): Promise<string[]> {
  const emails = weeks.map((week) =>
    newEmail(workspaceId, [`a@${destination}`], { id: makeUuid(weekAt(Date.now()) + week * weekMs + 1000) }),
  );
  await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
  return emails.map(({ id }) => id);
}

async function addPartitions(week: number): Promise<void> {
  for (const table of ["emails", "recipients"] as const) {
    const { name, from, to } = partitionAt(table, weekAt(Date.now()) + week * weekMs);
    await database.sql.unsafe(
      `create table if not exists ${name} partition of ${table} for values from ('${from}') to ('${to}')`,
    );
  }
}

test("this week and the weeks with open mail are found, and those whose mail is settled are not", async () => {
  const { sql } = database;
  assert.deepEqual(await findOpenWeeks(sql), [weekAt(Date.now())]);
  await store(0, -1);
  assert.deepEqual(await findOpenWeeks(sql), [weekAt(Date.now()) - weekMs, weekAt(Date.now())]);
  await sql`update recipients set status = 'delivered' where email_id < ${makeUuid(weekAt(Date.now()))}`;
  assert.deepEqual(await findOpenWeeks(sql), [weekAt(Date.now())]);
});

test("around a change of the week both weeks are found, because new mail may get an id of either", async () => {
  const { sql } = database;
  const next = weekAt(Date.now()) + weekMs;
  for (const ms of [-30_000, 30_000]) {
    await setClock(next + ms);
    assert.deepEqual(await findOpenWeeks(sql), [next - weekMs, next]);
  }
  await setClock(next - 120_000);
  assert.deepEqual(await findOpenWeeks(sql), [next - weekMs]);
});

test("after a jump of the clock, the week of new mail is found, also before the new time has partitions", async () => {
  const { sql } = database;
  for (const days of [30, -30, 400]) {
    await setClock(weekAt(Date.now()) + weekMs / 2);
    await shiftWallTime(sql, `${days} days`);
    assert.deepEqual(await findOpenWeeks(sql), [weekAt(Date.now())]);
    assert.deepEqual(await createOpenWeeks(sql).findLanes(10, undefined), []);
  }
});

test("the search for open weeks reads no row of a settled week, with statistics of a backlog", async () => {
  const { sql } = database;
  await store(...Array.from({ length: 500 }, () => -1));
  await sql`analyze recipients`;
  await sql`update recipients set status = 'delivered'`;
  const { result, rows } = await countRowsRead(sql, "^recipients_p", async (tx) => await findOpenWeeks(tx));
  assert.deepEqual(result, [weekAt(Date.now())]);
  // With the dead versions of the rows that the index still has.
  assert.ok(rows < 10, `read ${rows} rows`);
});

test("mail of several weeks is leased up to the quota, and all of it in time, whatever week has the most", async () => {
  const { sql } = database;
  const ids = await store(0, 0, 0, 0, 0, 0, -1, -1, 1);
  const weeks = createOpenWeeks(sql);
  const found = await weeks.findLanes(10, undefined);
  assert.deepEqual(
    found.map((lane) => [lane.destination, lane.workspaceId]),
    [[destination, workspaceId]],
  );
  const leased: string[] = [];
  for (const expected of [4, 4, 1, 0]) {
    const rows = await weeks.lease(lease, [{ destination, workspaceId, quota: 4 }], []);
    assert.equal(rows.length, expected);
    leased.push(...rows.map(({ emailId }) => emailId));
    for (const row of rows) assert.equal(row.email.id, row.emailId);
    assert.deepEqual(
      await settle(
        sql,
        rows.map((row) => settlement(row, "delivered")),
      ),
      rows.map(() => true),
    );
  }
  assert.deepEqual(leased.toSorted(), ids.toSorted());
});

test("before the first search, and with open mail in many weeks, one statement leases from all weeks", async () => {
  const { sql } = database;
  const many = [-6, -5, -4, -3, -2, 0];
  for (const week of many) await addPartitions(week);
  await store(...many);
  const weeks = createOpenWeeks(sql);
  const lanes = [{ destination, workspaceId, quota: 3 }];
  assert.equal((await weeks.lease(lease, lanes, [])).length, 3);
  assert.equal((await weeks.findLanes(10, undefined)).length, 1);
  assert.equal((await weeks.lease(lease, lanes, [])).length, 3);
});

test("new mail of this week is leased without another search, and a week that was dropped since stops nothing", async () => {
  const { sql } = database;
  await addPartitions(-8);
  await store(-8);
  const weeks = createOpenWeeks(sql);
  await weeks.findLanes(10, undefined);
  for (const table of ["emails", "recipients"] as const)
    await sql.unsafe(`drop table ${partitionAt(table, weekAt(Date.now()) - 8 * weekMs).name}`);
  const ids = await store(0);
  const lanes = [{ destination, workspaceId, quota: 9 }];
  assert.deepEqual(
    (await weeks.lease(lease, lanes, [])).map(({ emailId }) => emailId),
    ids,
  );
  assert.equal((await weeks.findLanes(10, undefined)).length, 1);
});

test("mail of a partition that was renamed is found and leased", async () => {
  const { sql } = database;
  const { name } = partitionAt("recipients", weekAt(Date.now()) - weekMs);
  const ids = await store(-1, 0);
  await sql.unsafe(`alter table ${name} rename to recipients_renamed`);
  const weeks = createOpenWeeks(sql);
  assert.equal((await weeks.findLanes(10, undefined)).length, 1);
  const rows = await weeks.lease(lease, [{ destination, workspaceId, quota: 9 }], []);
  assert.deepEqual(rows.map(({ emailId }) => emailId).toSorted(), ids.toSorted());
  await sql.unsafe(`alter table recipients_renamed rename to ${name}`);
});
