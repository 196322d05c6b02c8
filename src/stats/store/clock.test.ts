/** The database's clock jumps and comes back: every event and every email is counted, once its hour is closed exactly once. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { addEvents } from "../../../test/harness/webhooks.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { createPartitions } from "../../postgres/partitions.ts";
import { addCounts, noCounts } from "../rules.ts";
import { foldStats } from "./fold.ts";
import { countedUntil, statsByBucket } from "./stats.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
let database: TestDatabase;
let workspaceId: string;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());
beforeEach(async () => {
  workspaceId = await makeWorkspace(database.sql);
});

const fold = async (nowMs: number, rows = 1000) => {
  while ((await foldStats(database.sql, { nowMs, workspaces: 50, rows })).behind);
};

async function totals() {
  const span = { workspaceId, from: new Date(Date.now() - 500 * dayMs), to: new Date(Date.now() + 500 * dayMs) };
  const { delivered, emails } = [...(await statsByBucket(database.sql, span, 1)).values()].reduce(
    addCounts,
    noCounts(),
  );
  return { delivered, emails };
}

/** Writes events as they are stored while the clock is off by so many days. */
async function writeEvents(days: number, count: number): Promise<void> {
  const { sql } = database;
  const nowMs = Date.now() + days * dayMs;
  await createPartitions(sql, nowMs);
  const [before] = await sql<{ last: string }[]>`select last from event_counters where workspace_id = ${workspaceId}`;
  await addEvents(sql, workspaceId, count);
  await sql`update events set created_at = ${new Date(nowMs)} where workspace_id = ${workspaceId} and number > ${before!.last}`;
}

async function writeEmails(days: number, count: number): Promise<void> {
  const nowMs = Date.now() + days * dayMs;
  await createPartitions(database.sql, nowMs);
  const store = createEmailStore(database.sql);
  // The time of an email is that of its id. Counting skips ids of the last seconds.
  for (let i = 0; i < count; i++)
    await store.accept({ ...newEmail(workspaceId, ["a@there.test"]), id: makeUuid(nowMs - 10_000) });
}

test("events are counted by number, also when their times go back by 3 and 30 days", async () => {
  let written = 0;
  for (const days of [0, -3, -30, 400, -3, 0]) {
    await writeEvents(days, 3);
    written += 3;
    await fold(Date.now() + days * dayMs, 2);
    assert.equal((await totals()).delivered, written, `${days}`);
    const waiting = await countedUntil(database.sql, workspaceId, Date.now() + 500 * dayMs);
    assert.ok(waiting > Date.now() + 499 * dayMs, "no event waits to be counted");
  }
});

test("emails accepted after the clock came back are counted", async () => {
  let written = 0;
  for (const days of [0, 400, 0, 400, 0]) {
    await writeEmails(days, 4);
    written += 4;
    await fold(Date.now() + days * dayMs);
  }
  // Hours that are open at a jump are counted again when they close.
  await fold(Date.now() + 3 * hourMs);
  assert.equal((await totals()).emails, written);
});

test("emails accepted while the clock is back are counted", async () => {
  let written = 0;
  for (const days of [0, -3, -30, 0]) {
    await writeEmails(days, 4);
    written += 4;
    await fold(Date.now() + days * dayMs);
  }
  await fold(Date.now() + 3 * hourMs);
  assert.equal((await totals()).emails, written);
});
