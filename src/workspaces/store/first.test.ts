import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { commandLine } from "../../audit/record.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { readMigrations } from "../../postgres/migration-files.ts";
import { readUsage } from "../../quotas/store/usage.ts";
import { findWorkspaceByName, getWorkspace, listWorkspaces } from "../store.ts";
import {
  ensureFirstWorkspace,
  ensureSystemWorkspace,
  firstWorkspace,
  onlyOneNode,
  systemWorkspace,
  systemWorkspaceSince,
} from "./first.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const newWorkspace = (name: string) => ({ id: makeUuid(Date.now()), name });

test("nodes that start at the same time create one first workspace, which later calls return", async () => {
  const { sql } = database;
  assert.equal(await firstWorkspace(sql), undefined);
  const ids = await Promise.all(
    ["one", "two", "three"].map((name) => onlyOneNode(sql, (tx) => ensureFirstWorkspace(tx, newWorkspace(name)))),
  );
  assert.equal(new Set(ids).size, 1);
  assert.equal(await firstWorkspace(sql), ids[0]);
  assert.equal((await sql`select 1 from workspaces`).length, 1);
  assert.equal((await sql`select 1 from event_counters where workspace_id = ${ids[0]!}`).length, 1);
  assert.equal((await sql`select 1 from audit_entries`).length, 0, "the first start is not a change");
  assert.equal(await ensureFirstWorkspace(sql, newWorkspace("later"), commandLine), ids[0]);
  assert.equal((await sql`select 1 from audit_entries`).length, 0, "nothing was created");
});

test("a failed first start leaves no workspace and no lock", async () => {
  const { sql } = database;
  await sql`delete from settings where name = 'first_workspace'`;
  const failing = onlyOneNode(sql, async (tx) => {
    await ensureFirstWorkspace(tx, newWorkspace("lost"), commandLine);
    throw new Error("killed");
  });
  await assert.rejects(failing, /killed/);
  assert.equal(await firstWorkspace(sql), undefined);
  assert.equal((await sql`select 1 from workspaces where name = 'lost'`).length, 0);
  const id = await onlyOneNode(sql, (tx) => ensureFirstWorkspace(tx, newWorkspace("kept"), commandLine));
  const entries = await sql`select action, actor from audit_entries where workspace_id = ${id}`;
  assert.deepEqual([...entries], [{ action: "workspace.created", actor: "command" }]);
});

test("the system workspace is created once, and no list shows it", async () => {
  const { sql } = database;
  const ids = await Promise.all(
    [1, 2].map(() => onlyOneNode(sql, (tx) => ensureSystemWorkspace(tx, makeUuid(Date.now())))),
  );
  assert.equal(ids[0], ids[1]);
  assert.equal(await systemWorkspace(sql), ids[0]);
  assert.equal((await sql`select 1 from workspaces where kind = 'system'`).length, 1);
  assert.ok((await listWorkspaces(sql)).every(({ id }) => id !== ids[0]));
  assert.deepEqual(await findWorkspaceByName(sql, "System mail"), []);
  assert.equal(await getWorkspace(sql, ids[0]!), undefined, "settings of providers cannot name it");
  assert.deepEqual(await readUsage(sql, [ids[0]!]), [], "commands cannot suspend, delete or export it by its id");
});

test("the version that knows the system workspace is that of its migration", async () => {
  const { name } = (await readMigrations())[systemWorkspaceSince - 1]!;
  assert.match(name, /system_workspace/);
});
