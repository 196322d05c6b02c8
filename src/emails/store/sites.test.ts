/** The sites of emails in the index: one row for each email and site, also of emails that earlier programs counted. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { reopenBackfills, runBatch } from "../../postgres/backfill.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { createPartitions, partitionOf } from "../../postgres/partitions.ts";
import { forgetWorker, registerWorker } from "../../postgres/workers.ts";
import { siteTerm } from "../rules/terms.ts";
import { storeBatch } from "./batches.ts";
import { listEmails } from "./list.ts";
import { indexSites, sitesOfEarlierEmails } from "./sites.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function store(workspaceId: string, recipients: string[], id = makeUuid(Date.now())) {
  const email = newEmail(workspaceId, recipients, { id });
  await storeBatch(database.sql, { workspaceId, emails: [email], answer: [], idempotency: undefined });
  return email;
}

const indexed = async (workspaceId: string, site: string) =>
  (
    await database.sql<{ id: string }[]>`
      select email_id as id from email_terms where workspace_id = ${workspaceId} and term = ${String(siteTerm(site))} order by email_id`
  ).map(({ id }) => id);

test("an email is indexed once for each site, however often it is counted there", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const [a, b] = [await store(workspaceId, ["a@there.test"]), await store(workspaceId, ["b@there.test"])];
  const at = (id: string, site: string) => ({ workspaceId, id, site });
  for (let n = 0; n < 2; n++)
    await sql.begin((tx) =>
      indexSites(tx, [at(b.id, "two.test"), at(b.id, "one.test"), at(a.id, "one.test"), at(a.id, "one.test")]),
    );
  assert.deepEqual(await indexed(workspaceId, "one.test"), [a.id, b.id].sort());
  assert.deepEqual(await indexed(workspaceId, "two.test"), [b.id]);
});

test("an email whose partition of the index does not exist is left out", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const oldMs = Date.now() - 200 * 86_400_000;
  await createPartitions(sql, oldMs);
  const old = await store(workspaceId, ["a@there.test"], makeUuid(oldMs));
  const recent = await store(workspaceId, ["b@there.test"]);
  await sql.unsafe(`drop table ${partitionOf("email_terms", oldMs).name}`);
  await sql.begin((tx) =>
    indexSites(
      tx,
      [old, recent].map(({ id }) => ({ workspaceId, id, site: "one.test" })),
    ),
  );
  assert.deepEqual(await indexed(workspaceId, "one.test"), [recent.id]);
});

test("emails that earlier programs counted are indexed by the servers of their recipients, and found before and after", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const emails = [];
  for (let n = 0; n < 5; n++) emails.push(await store(workspaceId, ["a@there.test", "b@there.test"]));
  const [first, second] = emails;
  await sql`update recipients set remote_mx = 'aspmx.l.google.com' where email_id = ${first!.id}`;
  await sql`update recipients set remote_mx = case position when 0 then 'ALT1.aspmx.l.google.com.' else 'mx1.receiver.test' end
    where email_id = ${second!.id}`;
  const found = async (site: string) =>
    (await listEmails(sql, { workspaceId, limit: 10, site })).rows.map(({ id }) => id).sort();
  const both = [first!.id, second!.id].sort();
  await sql`delete from backfills`;
  assert.deepEqual(await found("google.com"), both, "without the index");
  for (let run = 0; run < 2; run++) {
    await reopenBackfills(sql, 40);
    while ((await runBatch(sql, sitesOfEarlierEmails, 2)).kind === "worked");
    assert.deepEqual(await indexed(workspaceId, "google.com"), both);
    assert.deepEqual(await indexed(workspaceId, "receiver.test"), [second!.id]);
    assert.deepEqual(await found("google.com"), both);
    assert.deepEqual(await found("receiver.test"), [second!.id]);
  }
});

test("an email that an older program counts during an upgrade is indexed after that program has ended", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const finish = async () => {
    while ((await runBatch(sql, sitesOfEarlierEmails, 500)).kind === "worked");
  };
  await finish();
  const older = { host: "a", pid: 1, roles: ["housekeeping"], version: "1", schemaVersion: 39 };
  const worker = await registerWorker(sql, older);
  const email = await store(workspaceId, ["a@there.test"]);
  await sql`update recipients set remote_mx = 'mx.receiver.test' where email_id = ${email.id}`;
  const found = async () =>
    (await listEmails(sql, { workspaceId, limit: 10, site: "receiver.test" })).rows.map(({ id }) => id);
  assert.equal((await runBatch(sql, sitesOfEarlierEmails, 500)).kind, "waits");
  assert.deepEqual(await found(), [email.id], "without the index");
  await forgetWorker(sql, worker);
  await finish();
  assert.deepEqual(await indexed(workspaceId, "receiver.test"), [email.id]);
  assert.deepEqual(await found(), [email.id]);
});
