import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { createEmailStore } from "../../emails/store/emails.ts";
import { rescheduleEmail } from "../../emails/store/reschedule.ts";
import { listSources, readPieces } from "./export.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

const id = "0190a000-0000-7000-8000-000000000001";

test("every table of a person or a workspace is exported, and no column that gives access to something", async () => {
  const { sql } = database;
  const person = await listSources(sql, { kind: "person", id, email: "a@there.test" });
  const secretsOf = (table: string) => person.find((one) => one.table === table)?.secrets;
  assert.deepEqual(secretsOf("people_totp"), ["secret_sealed"]);
  assert.deepEqual(secretsOf("people_recovery_codes"), ["code_hash"]);
  assert.deepEqual(secretsOf("people_passkeys"), ["credential_id"]);
  assert.deepEqual(secretsOf("people_sign_ins"), ["token_hash"]);
  assert.ok(secretsOf("people_sessions")?.includes("token"));
  assert.ok(secretsOf("people_accounts")?.includes("password"));
  const workspace = await listSources(sql, { kind: "workspace", id });
  const keys = workspace.find((one) => one.table === "keys");
  assert.deepEqual(keys?.secrets, ["secret_hash"]);
  for (const table of ["domains", "emails", "events", "recipients", "webhooks", "suppressions", "audit_entries"])
    assert.ok(
      workspace.some((one) => one.table === table),
      table,
    );
  assert.equal(new Set(workspace.map(({ file }) => file)).size, workspace.length, "each table has its own file");
});

test("content that UpdateEmail moves to another day while it is read is read to its end", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
  const parts = ["{}", "A".repeat(3_000_000)];
  const email = newEmail(workspaceId, ["a@there.test"], { scheduledAt: inDays(2), parts });
  await createEmailStore(sql).accept(email);
  const read = ["", ""];
  for await (const { part, data } of readPieces(sql, { workspaceId, emailId: email.id })) {
    if (read[1] === "") await sql.begin((tx) => rescheduleEmail(tx, { workspaceId, id: email.id }, inDays(3 + part)));
    read[part] += data;
  }
  assert.deepEqual(read, parts);
});
