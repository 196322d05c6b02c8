import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { addPerson } from "../people/store.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import type { Actor } from "./entry.ts";
import { type AuditPlace, forgetEntries, insertEntries, listEntries } from "./store.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database?.drop());

const newId = () => makeUuid(Date.now());
const all = (workspaceId: string) => listEntries(sql, { workspaceId }, { before: undefined, limit: 100 });

test("addresses are deleted with their person, and entries stay", async () => {
  const workspaceId = newId();
  const person = (await addPerson(sql, { email: "a@there.test", name: "A", passwordHash: "h", nowMs: Date.now() }))!;
  const actor: Actor = { kind: "person", id: person.id, personId: person.id, address: "192.0.2.7" };
  const madeByPerson: Actor = { kind: "key", id: newId(), address: "192.0.2.8" };
  await sql`insert into workspaces (id, name) values (${workspaceId}, 'W')`;
  await sql`insert into members (workspace_id, id, person_id, email, role, joined_at)
    values (${workspaceId}, ${newId()}, ${person.id}, 'a@there.test', 'owner', now())`;
  await sql`insert into keys (id, workspace_id, name, prefix, secret_hash, permission, maker_person_id)
    values (${madeByPerson.id}, ${workspaceId}, 'K', 'made by a person', 'x', 'full', ${person.id})`;
  const withoutMaker: Actor = { kind: "key", id: newId(), address: "192.0.2.9" };
  for (const one of [actor, madeByPerson, withoutMaker])
    await insertEntries(sql, one, [{ action: "key.created", workspaceId, target: { kind: "key", id: newId() } }]);
  assert.deepEqual(
    (await all(workspaceId)).map(({ address }) => address),
    ["192.0.2.9", "192.0.2.8", "192.0.2.7"],
  );
  await sql`delete from members where person_id = ${person.id}`;
  assert.equal((await all(workspaceId))[2]!.address, null, "people who are not members stay unknown to the workspace");
  await sql`delete from people where id = ${person.id}`;
  assert.deepEqual(
    (await all(workspaceId)).map(({ address }) => address),
    ["192.0.2.9", null, null],
  );
  assert.equal((await sql`select 1 from audit_clients where address like '192.0.2.7'`).length, 0);
  await insertEntries(sql, actor, [{ action: "key.revoked", workspaceId }]);
  assert.equal((await all(workspaceId))[0]!.address, null, "no address for a person who is deleted");
});

test("an entry of a person who is being deleted waits, and is stored without the address", {
  timeout: 30_000,
}, async () => {
  const workspaceId = newId();
  const person = (await addPerson(sql, { email: "gone@there.test", name: "G", passwordHash: "h", nowMs: Date.now() }))!;
  const actor: Actor = { kind: "person", id: person.id, personId: person.id, address: "192.0.2.40" };
  let adding: Promise<void> | undefined;
  await sql.begin(async (tx) => {
    await tx`delete from people where id = ${person.id}`;
    adding = insertEntries(sql, actor, [{ action: "key.created", workspaceId }]);
    adding.catch(() => {});
    await until("the entry to wait for the deletion", async () => {
      const waiting = await sql`select 1 from pg_stat_activity
        where wait_event_type = 'Lock' and query like '%audit_clients%' and datname = current_database()`;
      return waiting.length > 0;
    });
  });
  await adding;
  assert.deepEqual(
    (await all(workspaceId)).map(({ action, address }) => ({ action, address })),
    [{ action: "key.created", address: null }],
  );
});

test("a person's name is shown to a workspace only while they are a member", async () => {
  const workspaceId = newId();
  await sql`insert into workspaces (id, name) values (${workspaceId}, 'W')`;
  const person = (await addPerson(sql, { email: "b@there.test", name: "Bea", passwordHash: "h", nowMs: Date.now() }))!;
  await insertEntries(sql, { kind: "person", id: person.id }, [{ action: "workspace.updated", workspaceId }]);
  const name = async (id: string | undefined) =>
    (await listEntries(sql, { workspaceId: id, actorId: person.id }, { before: undefined, limit: 1 }))[0]!.actorName;
  assert.equal(await name(workspaceId), null);
  assert.equal(await name(undefined), "Bea", "in the log of the whole service");
  await sql`insert into members (workspace_id, id, person_id, email, role, joined_at)
    values (${workspaceId}, ${newId()}, ${person.id}, 'b@there.test', 'owner', now())`;
  assert.equal(await name(workspaceId), "Bea");
});

test("entries are listed newest first, in pages without gaps, by every filter", async () => {
  const workspaceId = newId();
  const [ann, bob] = [newId(), newId()];
  const target = { kind: "webhook", id: newId() } as const;
  await sql.begin(async (tx) => {
    // In one transaction, so that several entries share a time.
    for (let i = 0; i < 4; i++)
      await insertEntries(tx, { kind: "person", id: ann }, [{ action: "key.created", workspaceId }]);
    await insertEntries(tx, { kind: "person", id: bob }, [{ action: "keyring.created", workspaceId, target }]);
  });
  const find = async (filter: object) =>
    (await listEntries(sql, { workspaceId, ...filter }, { before: undefined, limit: 9 })).length;
  assert.deepEqual(
    [await find({}), await find({ actorId: ann }), await find({ targetId: target.id }), await find({ action: "key" })],
    [5, 4, 1, 4],
  );
  assert.deepEqual([await find({ action: "key.created" }), await find({ action: "key.crea" })], [4, 0]);
  const ids: string[] = [];
  for (let before: AuditPlace | undefined; ; ) {
    const page = await listEntries(sql, { workspaceId }, { before, limit: 2 });
    ids.push(...page.map(({ id }) => id));
    if (page.length < 2) break;
    before = page.at(-1);
  }
  assert.equal(new Set(ids).size, 5);
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => Number(b) - Number(a)),
  );
});

test("entries older than the history are deleted with their addresses", async () => {
  const workspaceId = newId();
  const actor: Actor = { kind: "key", id: newId(), address: "192.0.2.30" };
  await sql`insert into audit_entries (workspace_id, at, stored_at, actor, action)
    select ${workspaceId}, wall_time() - interval '31 days', service_time() - interval '31 days', 'service', 'old.entry' from generate_series(1, 12000)`;
  await sql`insert into audit_clients (entry_id, address) select id, '192.0.2.31' from audit_entries where action = 'old.entry'`;
  await insertEntries(sql, actor, [{ action: "new.entry", workspaceId }]);
  await forgetEntries(sql, 30);
  assert.deepEqual(
    (await all(workspaceId)).map(({ action }) => action),
    ["new.entry"],
  );
  const left = await sql<
    { address: string }[]
  >`select address from audit_clients where address in ('192.0.2.30', '192.0.2.31')`;
  assert.deepEqual(left, [{ address: "192.0.2.30" }]);
});
