import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { commandLine } from "../audit/record.ts";
import { insertKey, makeKeySecret } from "../keys/store.ts";
import { makeUuid } from "../postgres/ids.ts";
import { deleteToEnd } from "./deletion.ts";
import { deleteWorkspace, readEntry } from "./workspaces.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

async function addDoomed(): Promise<string> {
  const { sql } = database;
  const id = await makeWorkspace(sql);
  await sql`insert into suppressions (workspace_id, address, reason) select ${id}, n || '@there.test', 'manual' from generate_series(1, 50) n`;
  await deleteWorkspace(sql, { workspace: (await readEntry(sql, id))!, actor: commandLine, providers: [] });
  return id;
}

async function addKey(workspaceId: string): Promise<void> {
  const { secret } = makeKeySecret(false);
  const key = { id: makeUuid(Date.now()), workspaceId, name: "late", secret, permission: "full", test: false } as const;
  await insertKey(database.sql, key);
}

const rowsOf = async (table: string, id: string) => {
  const { sql } = database;
  return (await sql`select 1 from ${sql.unsafe(table)} where workspace_id = ${id}`).length;
};

test("a row that is added during the deletion is deleted, too", async () => {
  const id = await addDoomed();
  let late: Promise<void> | undefined;
  const options = {
    batchRows: 10,
    // By then the keys of the workspace are deleted: tables are in the order of their names.
    onProgress: (rows: number) => {
      if (rows > 20) late ??= addKey(id);
    },
  };
  assert.equal(await deleteToEnd(database.sql, id, options), true);
  await late;
  assert.ok(late, "the key was added");
  for (const table of ["keys", "suppressions"]) assert.equal(await rowsOf(table, id), 0, table);
  assert.equal(await readEntry(database.sql, id), undefined);
});

test("of several nodes one does the last step, and a stopped one leaves the rest to the others", async () => {
  const id = await addDoomed();
  assert.equal(await deleteToEnd(database.sql, id, { stop: AbortSignal.abort() }), false);
  assert.ok((await rowsOf("suppressions", id)) > 0);
  const done = await Promise.all([1, 2, 3].map(() => deleteToEnd(database.sql, id, { batchRows: 5 })));
  assert.deepEqual(done.sort(), [false, false, true]);
  const { sql } = database;
  const entries = await sql`select 1 from audit_entries where workspace_id = ${id} and action = 'workspace.erased'`;
  assert.equal(entries.length, 1);
});
