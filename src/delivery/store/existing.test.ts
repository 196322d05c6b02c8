import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { storeBatch } from "../../emails/store/batches.ts";
import { systemKeyId } from "../../keys/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { findEmails } from "./existing.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

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
