import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { findSuppressed, readReplies } from "./system-mail.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

test("the newest three replies to each email are read, of this workspace only", async () => {
  const { sql } = database;
  const [workspaceId, other] = [await makeWorkspace(sql), await makeWorkspace(sql)];
  // Ids of one millisecond are in no order.
  let atMs = Date.now();
  const nextId = () => makeUuid(atMs++);
  const [first, second] = [nextId(), nextId()];
  const add = (text: string, parent: string, to = workspaceId) => sql`
    insert into inbound_messages (workspace_id, id, domain_id, domain, recipients, sender, from_address, subject, kind, content_hash,
      size_bytes, parent_email_id, body, new_text)
    values (${to}, ${nextId()}, ${parent}, 'x.test', '{}', 'a@x.test', 'a@x.test', 's', 'reply', 'x', 1, ${parent}, 'all', ${text})`;
  for (const text of ["1", "2", "3", "4"]) await add(text, first);
  await add("5", second);
  await add("6", second, other);
  const replies = await readReplies(sql, workspaceId, [first, second]);
  assert.deepEqual(
    replies.map(({ emailId, text }) => [emailId === first ? "first" : "second", text]),
    [
      ["first", "4"],
      ["first", "3"],
      ["first", "2"],
      ["second", "5"],
    ],
  );
});

test("suppressed recipients are found in any spelling, of this workspace only", async () => {
  const { sql } = database;
  const [workspaceId, other] = [await makeWorkspace(sql), await makeWorkspace(sql)];
  await sql`insert into suppressions (workspace_id, address, reason)
    values (${workspaceId}, 'ann@there.test', 'bounce'), (${other}, 'ben@there.test', 'bounce')`;
  const found = await findSuppressed(sql, workspaceId, ["Ann@there.test", "ben@there.test"]);
  assert.deepEqual([...found], ["Ann@there.test"]);
});
