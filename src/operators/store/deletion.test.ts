import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace } from "../../../test/harness/mail.ts";
import { insertKey, makeKeySecret } from "../../keys/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import type { Sql } from "../../postgres/pool.ts";
import {
  beginDeletion,
  deleteBatch,
  findDeletions,
  finishDeletion,
  forgetDeletions,
  isDeleted,
  listTables,
  noteSwept,
  tablesThatStay,
} from "./deletion.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database.drop());

async function addWorkspace(): Promise<string> {
  const id = await makeWorkspace(sql);
  const { secret } = makeKeySecret(false);
  await insertKey(sql, {
    id: makeUuid(Date.now()),
    workspaceId: id,
    name: "k",
    secret,
    permission: "full",
    test: false,
  });
  await sql`insert into suppressions (workspace_id, address, reason) select ${id}, n || '@there.test', 'manual' from generate_series(1, 5) n`;
  return id;
}

const begin = (id: string) => sql.begin((tx) => beginDeletion(tx, id));
const deletionsOf = async (id: string) => (await findDeletions(sql)).filter((one) => one.workspaceId === id);

test("a deletion begins once, and takes keys, domains and the workspace itself out of service", async () => {
  const id = await addWorkspace();
  assert.equal(await isDeleted(sql, id), true, "not being deleted");
  assert.equal(await begin(id), true);
  assert.equal(await begin(id), false);
  assert.equal(await isDeleted(sql, id), false);
  assert.deepEqual(await deletionsOf(id), [{ workspaceId: id, isFinished: false }]);
  const [state] = await sql`
    select w.deleting_at is not null as deleting, w.suspended_at is not null as suspended,
      (select bool_and(revoked_at is not null) from keys where workspace_id = w.id) as revoked,
      (select bool_or(can_send) from domains where workspace_id = w.id) as "canSend"
    from workspaces w where id = ${id}`;
  assert.deepEqual(state, { deleting: true, suspended: true, revoked: true, canSend: false });
});

test("every table with a workspace_id is listed, domains and their keys last, without the audit log", async () => {
  const tables = await listTables(sql);
  assert.deepEqual(tables.slice(-2), ["dkim_keys", "domains"]);
  for (const stays of tablesThatStay) assert.ok(!tables.includes(stays), stays);
  const all = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and column_name = 'workspace_id' and table_type = 'BASE TABLE'
      and table_name not in (select c.relname from pg_class c where c.relkind = 'p')`;
  const missing = all
    .map(({ name }) => name)
    .filter((name) => !tables.includes(name) && !tablesThatStay.includes(name));
  assert.deepEqual(missing, []);
});

test("a batch deletes only rows of its workspace, up to its limit, and one node at a time", async () => {
  const [id, other] = [await addWorkspace(), await addWorkspace()];
  await begin(id);
  const batch = { workspaceId: id, table: "suppressions", limit: 3 };
  assert.equal(await deleteBatch(sql, batch), 3);
  await sql.begin(async (tx) => {
    // Another node holds the lock of this workspace.
    await tx`select pg_advisory_xact_lock(x'77736465'::int, hashtext(${id}))`;
    assert.equal(await deleteBatch(sql, batch), "busy");
    assert.equal(await deleteBatch(sql, { ...batch, workspaceId: other, limit: 1 }), 1);
  });
  assert.equal(await deleteBatch(sql, batch), 2);
  assert.equal(await deleteBatch(sql, batch), 0);
  assert.equal((await sql`select 1 from suppressions where workspace_id = ${other}`).length, 4);
  assert.equal(await deleteBatch(sql, { ...batch, table: "suppressions_p19990101" }), 0, "a dropped partition");
});

test("a finished deletion is swept every 10 minutes, and forgotten after 7 days", async () => {
  const id = await addWorkspace();
  await begin(id);
  for (const table of await listTables(sql)) await deleteBatch(sql, { workspaceId: id, table, limit: 100 });
  assert.equal(await sql.begin((tx) => finishDeletion(tx, id)), true);
  assert.equal(await sql.begin((tx) => finishDeletion(tx, id)), false);
  assert.equal(await isDeleted(sql, id), true);
  assert.equal((await sql`select 1 from workspaces where id = ${id}`).length, 0);
  assert.deepEqual(await deletionsOf(id), [], "swept a moment ago");
  const finishedAgo = (text: string) =>
    sql`update workspace_deletions set finished_at = service_time() - ${text}::interval where workspace_id = ${id}`;
  await finishedAgo("11 minutes");
  assert.deepEqual(await deletionsOf(id), [{ workspaceId: id, isFinished: true }]);
  await noteSwept(sql, id);
  assert.deepEqual(await deletionsOf(id), []);
  await finishedAgo("6 days");
  await forgetDeletions(sql);
  assert.equal((await sql`select 1 from workspace_deletions where workspace_id = ${id}`).length, 1);
  await finishedAgo("8 days");
  await forgetDeletions(sql);
  assert.equal((await sql`select 1 from workspace_deletions where workspace_id = ${id}`).length, 0);
});
