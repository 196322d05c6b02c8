import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { partitionAt } from "../../postgres/partitions.ts";
import { storeBatch } from "./batches.ts";
import { readContents } from "./content.ts";
import { getEmail } from "./reads.ts";

const dayMs = 86_400_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

/** Stores one email for today and one that is scheduled for another day. */
async function storeTwo(inDays: number) {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const emails = [
    newEmail(workspaceId, ["a@there.test"], { parts: ['{"text":"now","html":""}', "QUJD"] }),
    newEmail(workspaceId, ["b@there.test"], { scheduledAt: new Date(Date.now() + inDays * dayMs) }),
  ];
  await storeBatch(sql, { workspaceId, emails, answer: [], idempotency: undefined });
  const rows = await sql<{ id: string; day: string }[]>`
    select id, content_day::text as day from emails where workspace_id = ${workspaceId}`;
  const keys = emails.map(({ id }) => ({ workspaceId, emailId: id, day: rows.find((row) => row.id === id)!.day }));
  return { emails, keys };
}

test("emails of several days are read together; an unknown email is missing and not an error", async () => {
  const { emails, keys } = await storeTwo(3);
  assert.notEqual(keys[0]!.day, keys[1]!.day);
  const absent = { ...keys[0]!, emailId: keys[0]!.workspaceId };
  const contents = await readContents(database.sql, [...keys, absent]);
  assert.deepEqual(contents, new Map(emails.map(({ id, parts }) => [id, parts])));
});

test("a renamed partition is still read; after a drop the content is missing and hasContent is false", async () => {
  const { sql } = database;
  const { emails, keys } = await storeTwo(5);
  const [, { workspaceId, emailId, day }] = keys as [unknown, (typeof keys)[0]];
  const { name } = partitionAt("email_contents", Date.parse(day));
  await sql.unsafe(`alter table ${name} rename to elsewhere`);
  assert.deepEqual((await readContents(sql, keys)).get(emailId), emails[1]!.parts);
  await sql.unsafe(`alter table elsewhere rename to ${name}`);
  assert.equal((await getEmail(sql, workspaceId, emailId))!.hasContent, true);
  await sql.unsafe(`drop table ${name}`);
  assert.deepEqual([...(await readContents(sql, keys)).keys()], [emails[0]!.id]);
  assert.equal((await getEmail(sql, workspaceId, emailId))!.hasContent, false);
});
