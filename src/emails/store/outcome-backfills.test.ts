/** Emails that a program without outcomes stored or settled during an upgrade are counted and listed like all others. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { reopenBackfills, runBatch } from "../../postgres/backfill.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { outcomeOf } from "../rules/outcome.ts";
import { storeBatch } from "./batches.ts";
import { listEmails } from "./list.ts";
import {
  complaintsOfEarlierEmails,
  correctList,
  type ListPosition,
  outcomesOfEarlierEmails,
} from "./outcome-backfills.ts";
import { getEmail } from "./reads.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function store(workspaceId: string): Promise<string> {
  const email = newEmail(workspaceId, ["a@there.test", "b@there.test"]);
  await storeBatch(database.sql, { workspaceId, emails: [email], answer: [], idempotency: undefined });
  return email.id;
}

/** As the statement of the release without outcomes that settles one recipient: it changes updated_at and none of the counts. */
async function settleAsBefore(id: string, position: number, status: string, accepted: number): Promise<void> {
  await database.sql.begin(async (tx) => {
    await tx`update recipients set status = ${status} where email_id = ${id} and position = ${position}`;
    await tx`update emails e set open = e.open - 1, accepted = e.accepted + ${accepted}, updated_at = now() + interval '1 ms',
      status = case when e.open > 1 then 'queued' when e.accepted + ${accepted} > 0 then 'sent' else 'failed' end where id = ${id}`;
  });
}

async function runAll(limit: number): Promise<void> {
  await reopenBackfills(database.sql, 32);
  for (const backfill of [outcomesOfEarlierEmails, complaintsOfEarlierEmails])
    while ((await runBatch(database.sql, backfill, limit)).kind === "worked");
}

const outcomeNow = async (workspaceId: string, id: string) =>
  outcomeOf((await getEmail(database.sql, workspaceId, id))!.counts);

const listed = async (workspaceId: string) => {
  const rows = await database.sql<{ outcome: string; id: string }[]>`
    select outcome, email_id as id from email_outcomes where workspace_id = ${workspaceId} order by outcome, email_id`;
  return rows.map(({ outcome, id }) => [outcome, id]);
};

test("an email that an earlier program stored and settled is counted, and listed if it has a problem", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const [bounced, delivered, open] = [await store(workspaceId), await store(workspaceId), await store(workspaceId)];
  await sql`update emails set counted_at = null where workspace_id = ${workspaceId}`;
  await sql`delete from email_outcomes where workspace_id = ${workspaceId}`;
  await settleAsBefore(bounced, 0, "delivered", 1);
  await settleAsBefore(bounced, 1, "bounced", 0);
  await settleAsBefore(delivered, 0, "delivered", 1);
  await settleAsBefore(delivered, 1, "delivered", 1);
  // Read before they are counted, they are counted for the answer.
  assert.equal(await outcomeNow(workspaceId, bounced), "bounced");
  for (const outcomes of [["bounced"], ["delivered"], ["queued"]] as const)
    assert.equal((await listEmails(sql, { workspaceId, limit: 10, outcomes })).rows.length, 1, outcomes[0]);
  await runAll(2);
  assert.deepEqual(await listed(workspaceId), [
    ["bounced", bounced],
    ["queued", open],
  ]);
  assert.equal(await outcomeNow(workspaceId, delivered), "delivered");
  const [row] =
    await sql`select delivered, bounced, counted_at = updated_at as right from emails where id = ${bounced}`;
  assert.deepEqual(row, { delivered: 1, bounced: 1, right: true });
  await runAll(500);
  assert.equal((await listed(workspaceId)).length, 2, "a second run changes nothing");
});

test("an email of this program that an earlier one settles is counted again", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const id = await store(workspaceId);
  assert.deepEqual(await listed(workspaceId), [["queued", id]]);
  await settleAsBefore(id, 0, "failed", 0);
  await settleAsBefore(id, 1, "delivered", 1);
  assert.equal(await outcomeNow(workspaceId, id), "failed");
  await runAll(500);
  assert.deepEqual(await listed(workspaceId), [["failed", id]]);
});

test("complaints and replies are counted from the event log", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const id = await store(workspaceId);
  for (const [number, type] of [
    [1000, "email.complained"],
    [1001, "email.replied"],
    [1002, "email.delivered"],
    [1003, "email.complained"],
  ] as const)
    await sql`insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
      values (${workspaceId}, ${number}, ${makeUuid(Date.now())}, ${type}, ${id}, '<m>', '{}', ${number === 1003 ? '{"feedbackType": "not-spam"}' : "{}"}::jsonb, service_time())`;
  await runAll(2);
  assert.deepEqual(await listed(workspaceId), [["complained", id]]);
  const [row] = await sql`select complained, replied from emails where id = ${id}`;
  assert.deepEqual(row, { complained: 1, replied: true });
});

test("rows of the lists that are wrong are corrected, and right ones stay", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const [open, stale, dropped] = [await store(workspaceId), await store(workspaceId), await store(workspaceId)];
  // As two statements leave it that settle recipients of one email at the same time.
  await sql`insert into email_outcomes values (${workspaceId}, 'delayed', ${stale}), (${workspaceId}, 'bounced', ${stale})`;
  await sql`delete from emails where id = ${dropped}`;
  let corrected = 0;
  for (let position: ListPosition | undefined, turn = 0; turn === 0 || position; turn++) {
    const result = await correctList(sql, position, 2);
    corrected += result.corrected;
    position = result.next;
  }
  assert.ok(corrected >= 3, String(corrected));
  assert.deepEqual(
    await listed(workspaceId),
    [open, stale].sort().map((id) => ["queued", id]),
  );
});
