import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { commandKeyId } from "../http/caller.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { actorOf, audited, commandLine, record } from "./record.ts";
import { listEntries } from "./store.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
  await sql`create table things (name text)`;
});
after(async () => await database?.drop());

const actions = async (workspaceId: string) =>
  (await listEntries(sql, { workspaceId }, { before: undefined, limit: 100 })).map(({ action }) => action);

test("a change and its entry are stored together or not at all", async () => {
  const workspaceId = makeUuid(Date.now());
  const change = (name: string) =>
    audited(
      sql,
      commandLine,
      async (tx) => {
        await tx`insert into things values (${name})`;
        return name;
      },
      (done) => {
        if (done === "fails") throw new Error("no entry");
        return done === "unnoticed" ? undefined : { action: "thing.added", workspaceId };
      },
    );
  await change("one");
  await assert.rejects(change("fails"), /no entry/);
  await change("unnoticed");
  const things = await sql<{ name: string }[]>`select name from things order by name`;
  assert.deepEqual(
    things.map(({ name }) => name),
    ["one", "unnoticed"],
  );
  assert.deepEqual(await actions(workspaceId), ["thing.added"]);
});

test("an entry of a transaction that is rolled back is not stored", async () => {
  const workspaceId = makeUuid(Date.now());
  const undone = sql.begin(async (tx) => {
    await record(tx, commandLine, { action: "thing.added", workspaceId });
    throw new Error("undone");
  });
  await assert.rejects(undone, /undone/);
  assert.deepEqual(await actions(workspaceId), []);
});

test("the actor is the person, the key, or the command line", () => {
  const caller = { workspaceId: "w", keyId: "k", permission: "full", domain: undefined, test: false } as const;
  const address = "192.0.2.1";
  const person = { id: "p", email: "p@there.test", role: "owner" } as const;
  assert.deepEqual(actorOf({ ...caller, person, address: () => address }), {
    kind: "person",
    id: "p",
    personId: "p",
    address,
  });
  assert.deepEqual(actorOf({ ...caller, keyMakerId: "m", address: () => address }), {
    kind: "key",
    id: "k",
    personId: "m",
    address,
  });
  assert.deepEqual(actorOf({ ...caller, keyId: commandKeyId }), commandLine);
});
