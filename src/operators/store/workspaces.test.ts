import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { addPerson } from "../../people/store.ts";
import { makeUuid } from "../../postgres/ids.ts";
import { addFirstOwner, createWorkspace } from "../../workspaces/store.ts";
import { listIds, readListed } from "./workspaces.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

test("workspaces are found by name, member and state, page after page", async () => {
  const { sql } = database;
  const add = async (name: string) => (await createWorkspace(sql, { id: makeUuid(Date.now()), name })).id;
  const [one, percent, gone] = [await add("Acme One"), await add("100% Mail"), await add("Acme Gone")];
  await sql`update workspaces set suspended_at = wall_time() where id = ${percent}`;
  await sql`update workspaces set deleting_at = wall_time() where id = ${gone}`;
  const person = (await addPerson(sql, { email: "o@there.test", name: "O", passwordHash: "h", nowMs: Date.now() }))!;
  await addFirstOwner(sql, { workspaceId: one, id: makeUuid(Date.now()), personId: person.id, email: person.email });
  const all = { before: undefined, limit: 50 };
  const ids = async (filter: object) => (await listIds(sql, filter, all)).map(({ id }) => id).sort();
  assert.deepEqual(await ids({ query: "acme" }), [one, gone].sort());
  assert.deepEqual(await ids({ query: "0%" }), [percent], "a percent sign is a character");
  assert.deepEqual(await ids({ query: "O@there.test" }), [one]);
  assert.deepEqual(await ids({ state: "suspended" }), [percent]);
  assert.deepEqual(await ids({ state: "deleting" }), [gone]);
  assert.ok((await ids({ state: "active" })).includes(one));
  const [first] = await listIds(sql, {}, { before: undefined, limit: 1 });
  const next = await listIds(sql, {}, { before: first!.id, limit: 50 });
  assert.ok(next.length >= 2 && next.every(({ id }) => id < first!.id));
  const [listed] = await readListed(sql, [one]);
  assert.deepEqual([listed!.owners, listed!.isFirst], [1, false]);
});
