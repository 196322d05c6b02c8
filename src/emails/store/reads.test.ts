import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { leaseDue } from "../../delivery/store/lease.ts";
import { systemKeyId } from "../../keys/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { makeLease, registerWorker } from "../../postgres/workers.ts";
import { storeBatch } from "./batches.ts";
import { cancelEmail, findEmails, getEmail, getRecipients } from "./reads.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function store(workspaceId: string, ...emails: ReturnType<typeof newEmail>[]): Promise<void> {
  await storeBatch(database.sql, { workspaceId, emails, answer: [], idempotency: undefined });
}

test("an email is visible only in its workspace and, with keyId, only to the key that sent it", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const email = newEmail(workspaceId, ["a@there.test"]);
  await store(workspaceId, email);
  assert.equal((await getEmail(sql, workspaceId, email.id, email.keyId))!.id, email.id);
  assert.equal(await getEmail(sql, workspaceId, email.id, makeUuid(Date.now())), undefined);
  assert.equal(await getEmail(sql, await makeWorkspace(sql), email.id), undefined);
});

test("cancel skips recipients that are being attempted and reports all waiting ones in one event", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const email = newEmail(workspaceId, ["a@there.test", "b@other.test", "c@other.test"]);
  await store(workspaceId, email);
  const worker = await registerWorker(sql, { host: "test", pid: 1, roles: ["delivery"], version: "0" });
  const lanes = [{ destination: "there.test", workspaceId, quota: 5 }];
  assert.equal((await leaseDue(sql, makeLease(worker, 1), lanes)).length, 1);
  assert.equal((await getEmail(sql, workspaceId, email.id))!.status, "processing");
  const cancel = () => cancelEmail(sql, { workspaceId, id: email.id, eventId: makeUuid(Date.now()) });
  assert.deepEqual(await cancel(), { found: true, canceled: ["b@other.test", "c@other.test"] });
  assert.deepEqual((await cancel()).canceled, []);
  assert.deepEqual(
    (await getRecipients(sql, workspaceId, email.id)).map(({ status }) => status),
    ["processing", "canceled", "canceled"],
  );
  const events = await sql`select type, number::int from events where workspace_id = ${workspaceId}`;
  assert.deepEqual([...events], [{ type: "email.canceled", number: 1 }]);
});

test("only emails that still exist are found, in any workspace, without invitations by a deleted person", async () => {
  const { sql } = database;
  const ids: string[] = [];
  const invitations: string[] = [];
  for (let n = 0; n < 2; n++) {
    const workspaceId = await makeWorkspace(sql);
    const emails = [newEmail(workspaceId, ["a@there.test"]), newEmail(workspaceId, ["b@there.test"])];
    // A workspace may use the same metadata as invitations of the service.
    const metadata = { inviter: "deleted" };
    emails.push(newEmail(workspaceId, ["c@there.test"], { metadata }));
    const invitation = newEmail(workspaceId, ["d@there.test"], { metadata, keyId: systemKeyId });
    invitations.push(invitation.id);
    await storeBatch(sql, { workspaceId, emails: [invitation], answer: [], idempotency: undefined });
    await storeBatch(sql, { workspaceId, emails, answer: [], idempotency: undefined });
    ids.push(...emails.map(({ id }) => id));
  }
  // An event, as of every captured email.
  await sql`insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    select e.workspace_id, 1000000 + row_number() over (), gen_random_uuid(), 'email.delivered', e.id, '<m>', '{}', '{}', service_time()
    from emails e where e.id = any(${[...ids, ...invitations]}::uuid[])
      and not exists (select 1 from events v where v.email_id = e.id)`;
  await sql`delete from emails where id = ${ids[0]!}`;
  const found = await findEmails(sql, [...ids, ...invitations, makeUuid(Date.now())]);
  assert.deepEqual([...found].sort(), ids.slice(1).sort());
  assert.equal((await findEmails(sql, [])).size, 0);
});
