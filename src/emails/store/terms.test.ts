/** The index of words is filled behind the accept, fairly, by one node per email, and survives a kill. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { reopenBackfills, runBatch } from "../../postgres/backfill.ts";
import { storeBatch } from "./batches.ts";
import type { NewEmail } from "./emails.ts";
import { indexArrivals, termsOfEarlierEmails } from "./terms.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  await database.sql`delete from email_arrivals`;
});
after(async () => await database.drop());

async function store(workspaceId: string, count = 1): Promise<NewEmail[]> {
  const emails = Array.from({ length: count }, (_, n) =>
    newEmail(workspaceId, [`u${n}@there.test`], { subject: "Hello" }),
  );
  await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
  return emails;
}

const state = async (workspaceId: string) =>
  (
    await database.sql`select (select count(*)::int from email_arrivals where workspace_id = ${workspaceId}) as waiting,
      (select count(distinct email_id)::int from email_terms where workspace_id = ${workspaceId}) as indexed`
  )[0];

test("each call takes a few accept statements of each workspace, and the next one begins after them", async () => {
  const { sql } = database;
  const workspaces = [await makeWorkspace(sql), await makeWorkspace(sql), await makeWorkspace(sql)].sort();
  for (let n = 0; n < 5; n++) await store(workspaces[0]!, 2);
  for (const workspaceId of workspaces.slice(1)) await store(workspaceId);
  const limits = { workspaces: 2, arrivals: 3 };
  const first = await indexArrivals(sql, { after: undefined, ...limits });
  assert.deepEqual(first, { emails: 7, after: workspaces[1], behind: true });
  const second = await indexArrivals(sql, { after: first.after, ...limits });
  assert.deepEqual(second, { emails: 1, after: undefined, behind: false });
  assert.deepEqual(await state(workspaces[0]!), { waiting: 2, indexed: 6 });
  assert.deepEqual(await state(workspaces[2]!), { waiting: 0, indexed: 1 });
});

test("two nodes share the work, and what a killed node had taken is indexed by another one", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  for (let n = 0; n < 4; n++) await store(workspaceId);
  const limits = { after: undefined, workspaces: 1, arrivals: 2 };
  const killed = sql.begin(async (tx) => {
    assert.equal((await indexArrivals(nested(tx), limits)).emails, 2);
    assert.equal((await indexArrivals(sql, limits)).emails, 2, "the other node takes the others");
    assert.equal((await indexArrivals(sql, limits)).emails, 0);
    throw new Error("killed");
  });
  await assert.rejects(killed, /killed/);
  assert.deepEqual(await state(workspaceId), { waiting: 2, indexed: 2 });
  await indexArrivals(sql, limits);
  assert.deepEqual(await state(workspaceId), { waiting: 0, indexed: 4 });
});

/** The transaction as a pool: `begin` continues it. */
function nested(tx: TestDatabase["sql"]): TestDatabase["sql"] {
  return new Proxy(tx, {
    get: (target, name) =>
      name === "begin" ? (work: (tx: unknown) => unknown) => work(target) : Reflect.get(target, name),
  });
}

test("an email that is deleted before it is indexed is passed over", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const [email] = await store(workspaceId, 2);
  await sql`delete from emails where workspace_id = ${workspaceId} and id = ${email!.id}`;
  await indexArrivals(sql, { after: undefined, workspaces: 1, arrivals: 1 });
  assert.deepEqual(await state(workspaceId), { waiting: 0, indexed: 1 });
});

test("emails of programs without the index are indexed by the backfill, once each", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  await store(workspaceId, 5);
  await sql`delete from email_arrivals`;
  for (let run = 0; run < 2; run++) {
    await reopenBackfills(sql, 33);
    while ((await runBatch(sql, termsOfEarlierEmails, 2)).kind === "worked");
    assert.deepEqual(await state(workspaceId), { waiting: 0, indexed: 5 });
  }
});
