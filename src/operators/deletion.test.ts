import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { until } from "../../test/harness/wait.ts";
import { commandLine } from "../audit/record.ts";
import { insertKey, makeKeySecret } from "../keys/store.ts";
import { silentLog } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import { createDeletions, deleteToEnd } from "./deletion.ts";
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

test("a sweep forgets the reply to an attempt that ended after the deletion", { timeout: 30_000 }, async () => {
  const { sql } = database;
  const id = await addDoomed();
  assert.equal(await deleteToEnd(sql, id), true);
  await sql`insert into sites (site, last_reply, last_reply_at) values ('there.test', '550 <x@there.test> unknown', now())`;
  await sql`update workspace_deletions set finished_at = service_time() - interval '11 minutes' where workspace_id = ${id}`;
  const deletions = createDeletions({ sql, log: silentLog(), everyMs: 10 });
  deletions.start();
  try {
    const isSwept = async () =>
      (await sql`select 1 from workspace_deletions where workspace_id = ${id} and swept_at is not null`).length === 1;
    await until("the sweep", isSwept);
  } finally {
    await deletions.stop();
  }
  assert.deepEqual(await sql`select 1 from sites where last_reply is not null`, []);
});
