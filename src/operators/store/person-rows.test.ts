import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { systemKeyId } from "../../keys/store.ts";
import { addPerson } from "../../people/store.ts";
import type { Sql } from "../../postgres/pool.ts";
import { isOfPerson, tablesByPerson } from "./person-rows.ts";

let database: TestDatabase;
let sql: Sql;
let workspaceId: string;
const email = "ann@there.test";
let ann: { id: string; email: string };
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
  workspaceId = await makeWorkspace(sql);
  const added = await addPerson(sql, { email, name: "Ann", passwordHash: "h", nowMs: Date.now() });
  ann = { id: added!.id, email };
});
after(async () => await database.drop());

async function count(table: string): Promise<number> {
  const rows = await sql`select 1 from ${sql.unsafe(table)} t where ${isOfPerson(sql, table, ann)}`;
  return rows.length;
}

test("every condition runs on its table, and a table without one is found by person_id", async () => {
  for (const table of tablesByPerson) assert.ok((await count(table)) <= 1, table);
  assert.equal(await count("people"), 1);
  assert.equal(await count("people_accounts"), 1);
});

test("mail of the service to the address belongs to the person, in any letter case; mail of a workspace does not", async () => {
  const store = createEmailStore(sql);
  const letter = newEmail(workspaceId, ["ANN@There.test"], { keyId: systemKeyId });
  await store.accept(letter);
  await store.accept(newEmail(workspaceId, [email]));
  await store.accept(newEmail(workspaceId, ["ben@there.test"], { keyId: systemKeyId }));
  for (const table of ["emails", "recipients"]) assert.equal(await count(table), 1, table);
  const [row] = await sql`select id from emails t where ${isOfPerson(sql, "emails", ann)}`;
  assert.equal(row!.id, letter.id);
});

test("a suppression belongs to the person only if account mail caused it", async () => {
  const letter = newEmail(workspaceId, [email], { keyId: systemKeyId });
  await createEmailStore(sql).accept(letter);
  const event = "0190a000-0000-7000-8000-000000000009";
  await sql`insert into events (workspace_id, number, id, type, email_id, message_id, metadata, payload, created_at)
    values (${workspaceId}, 1000, ${event}, 'email.bounced', ${letter.id}, '<m>', '{}', '{}', service_time())`;
  await sql`insert into suppressions (workspace_id, address, reason) values (${workspaceId}, ${email}, 'manual')`;
  assert.equal(await count("suppressions"), 0, "the workspace added it");
  await sql`update suppressions set reason = 'bounce', source_event = ${event} where address = ${email}`;
  assert.equal(await count("suppressions"), 1);
  assert.equal(await count("events"), 1);
});
