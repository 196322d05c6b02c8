import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeBareWorkspace } from "../../../test/harness/mail.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { forgetUnattributed, listUnattributed, maxUnattributed, storeUnattributed } from "./unattributed.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

let nowMs = Date.now();
const add = async (workspaceId: string, emailId: string, namedRecipient = "a@there.test") =>
  await storeUnattributed(database.sql, {
    id: makeUuid(nowMs++),
    workspaceId,
    emailId,
    kind: "complaint",
    reason: "no_token",
    namedRecipient,
  });
const list = async (workspaceId: string, before?: string, limit = 5000) =>
  await listUnattributed(database.sql, { workspaceId, before, limit });

test("repeated reports about one email share a row, which moves to the top", async () => {
  const workspaceId = await makeBareWorkspace(database.sql);
  const [first, second] = [makeUuid(nowMs), makeUuid(nowMs)] as const;
  await add(workspaceId, first);
  await add(workspaceId, second);
  for (let i = 0; i < 5; i++) await add(workspaceId, first, `b${i}@there.test`);
  assert.deepEqual(
    (await list(workspaceId)).map(({ emailId, reports, namedRecipient }) => [emailId, reports, namedRecipient]),
    [
      [first, 6, "b4@there.test"],
      [second, 1, "a@there.test"],
    ],
  );
  const [top] = await list(workspaceId, undefined, 1);
  assert.deepEqual(
    (await list(workspaceId, top!.id)).map(({ emailId }) => emailId),
    [second],
  );
});

test("a workspace keeps its newest rows up to the limit, and another workspace keeps its own", async () => {
  const [flooded, other] = [await makeBareWorkspace(database.sql), await makeBareWorkspace(database.sql)];
  await add(other, makeUuid(nowMs));
  const { sql } = database;
  await sql`insert into unattributed_reports (workspace_id, email_id, kind, reason, id, named_recipient, first_at, last_at)
    select ${flooded}, gen_random_uuid(), 'bounce', 'expired', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, '', service_time(), service_time()
    from generate_series(1, ${maxUnattributed}) n`;
  const newest = Array.from({ length: 20 }, () => makeUuid(nowMs++));
  await Promise.all(newest.map((emailId) => add(flooded, emailId)));
  await add(flooded, newest[0]!);
  const rows = await list(flooded);
  assert.equal(rows.length, maxUnattributed);
  assert.deepEqual(new Set(rows.slice(0, 20).map(({ emailId }) => emailId)), new Set(newest));
  assert.equal((await list(other)).length, 1);
});

test("rows are deleted when their newest report is older than history is kept, by service time", async () => {
  const workspaceId = await makeBareWorkspace(database.sql);
  const [old, recent] = [makeUuid(nowMs), makeUuid(nowMs)] as const;
  await add(workspaceId, old);
  await add(workspaceId, recent);
  await database.sql`update unattributed_reports set first_at = service_time() - interval '99 days',
    last_at = service_time() - case when email_id = ${old} then interval '91 days' else interval '89 days' end where workspace_id = ${workspaceId}`;
  await forgetUnattributed(database.sql, 90);
  assert.deepEqual(
    (await list(workspaceId)).map(({ emailId }) => emailId),
    [recent],
  );
});
