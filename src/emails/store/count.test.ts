import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { countRowsRead } from "../../../test/harness/rows-read.ts";
import { runBatch } from "../../postgres/backfill.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { parseSearch } from "../rules/terms.ts";
import { storeBatch } from "./batches.ts";
import { countEmails } from "./count.ts";
import { outcomesOfEarlierEmails } from "./outcome-backfills.ts";
import { cancelEmail } from "./reads.ts";
import { termsOfEarlierEmails } from "./terms.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
  for (const backfill of [outcomesOfEarlierEmails, termsOfEarlierEmails])
    assert.equal((await runBatch(database.sql, backfill, 500)).kind, "finished");
});
after(async () => await database.drop());

test("emails are counted by outcome, under the same filters as the list", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const other = await makeWorkspace(sql);
  const emails = Array.from({ length: 5 }, (_, n) =>
    newEmail(workspaceId, [`u${n}@there.test`], { subject: n === 0 ? "Hello" : "Bye" }),
  );
  await storeBatch(sql, { workspaceId, emails, answer: [], idempotency: undefined });
  const stranger = newEmail(other, ["u@there.test"]);
  await storeBatch(sql, { workspaceId: other, emails: [stranger], answer: [], idempotency: undefined });
  for (const { id } of emails.slice(0, 2)) await cancelEmail(sql, { workspaceId, id, eventId: makeUuid(Date.now()) });
  const all = await countEmails(sql, { workspaceId });
  assert.deepEqual(all.total, { emails: 5, atLeast: false });
  assert.deepEqual(all.byOutcome.canceled, { emails: 2, atLeast: false });
  assert.deepEqual(all.byOutcome.queued, { emails: 3, atLeast: false });
  assert.deepEqual(all.byOutcome.bounced, { emails: 0, atLeast: false });
  const found = await countEmails(sql, { workspaceId, search: { words: parseSearch("bye") } });
  assert.deepEqual([found.total.emails, found.byOutcome.canceled.emails], [4, 1]);
  const canceled = await countEmails(sql, { workspaceId, outcomes: ["canceled"] });
  assert.deepEqual([canceled.total.emails, canceled.byOutcome.queued.emails], [2, 0]);
  const earlier = await countEmails(sql, { workspaceId, createdBefore: new Date(Date.now() - 60_000) });
  assert.equal(earlier.total.emails, 0);
});

test("more than 10,000 emails are counted as at least so many, and those with a problem are found behind them", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const start = Date.now() - 60_000;
  const first = newEmail(workspaceId, ["old@there.test"], { id: makeUuid(start) });
  await storeBatch(sql, { workspaceId, emails: [first], answer: [], idempotency: undefined });
  await cancelEmail(sql, { workspaceId, id: first.id, eventId: makeUuid(Date.now()) });
  for (let stored = 0; stored < 10_500; stored += 500) {
    const emails = Array.from({ length: 500 }, (_, n) =>
      newEmail(workspaceId, ["a@there.test"], { id: makeUuid(start + 1 + stored + n) }),
    );
    await storeBatch(sql, { workspaceId, emails, answer: [], idempotency: undefined });
  }
  const tables = "^(emails|email_terms|recipients)_p|^email_(outcomes|arrivals)";
  const { result, rows } = await countRowsRead(sql, tables, (tx) => countEmails(tx, { workspaceId }));
  assert.deepEqual(result.total, { emails: 10_000, atLeast: true });
  assert.equal(result.byOutcome.queued.atLeast, true);
  assert.deepEqual(result.byOutcome.canceled, { emails: 1, atLeast: false });
  assert.ok(rows < 45_000, `read ${rows} rows`);
});
