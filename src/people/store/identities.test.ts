import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import type { Sql } from "../../postgres/pool.ts";
import { addPerson } from "../store.ts";
import {
  addIdentity,
  addPersonOfProvider,
  countPasswordOnly,
  findByAddress,
  findByIdentity,
  hasPassword,
  listIdentities,
  removeIdentity,
} from "./identities.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  sql = database.sql;
});
after(async () => await database?.drop());

const issuer = "https://login.example";
const nowMs = Date.now();

test("an identity is issuer and subject, and belongs to one person", async () => {
  const ann = (await addPerson(sql, { email: "ann@there.test", name: "Ann", passwordHash: "h", nowMs }))!;
  const ben = (await addPersonOfProvider(sql, { email: "ben@there.test", name: "Ben", nowMs }))!;
  assert.equal(await addPersonOfProvider(sql, { email: "ann@there.test", name: "Thief", nowMs }), undefined);
  assert.equal(await countPasswordOnly(sql), 2);
  const identity = { issuer, subject: "1" };
  assert.equal(await addIdentity(sql, { personId: ben.id, identity, nowMs }), true);
  assert.equal(await addIdentity(sql, { personId: ann.id, identity, nowMs }), false);
  assert.equal((await findByIdentity(sql, identity))?.id, ben.id);
  assert.equal(await findByIdentity(sql, { issuer: "https://other.example", subject: "1" }), undefined);
  assert.equal(await findByIdentity(sql, { issuer: "credential", subject: ann.id }), undefined, "a password is none");
  assert.deepEqual([await hasPassword(sql, ann.id), await hasPassword(sql, ben.id)], [true, false]);
  assert.equal(await countPasswordOnly(sql), 1);
});

test("an account shows whether it proved its address and has another identity at the issuer", async () => {
  const cleo = (await addPerson(sql, { email: "cleo@there.test", name: "Cleo", passwordHash: "h", nowMs }))!;
  const found = async () => {
    const { hasProvedAddress, hasOther } = (await findByAddress(sql, "cleo@there.test", issuer))!;
    return [hasProvedAddress, hasOther];
  };
  assert.deepEqual(await found(), [false, false]);
  await sql`update people set email_verified = true where id = ${cleo.id}`;
  await addIdentity(sql, { personId: cleo.id, identity: { issuer, subject: "cleo" }, nowMs });
  assert.deepEqual(await found(), [true, true]);
  assert.equal(await findByAddress(sql, "no-one@there.test", issuer), undefined);
});

test("only the person's own identities are removed, and never the password", async () => {
  const [dan, eve] = await Promise.all(
    ["dan", "eve"].map(async (name) => {
      const person = (await addPerson(sql, { email: `${name}@there.test`, name, passwordHash: "h", nowMs }))!;
      await addIdentity(sql, { personId: person.id, identity: { issuer, subject: name }, nowMs });
      return person;
    }),
  );
  const [identity] = await listIdentities(sql, dan!.id);
  assert.equal(identity!.issuer, issuer);
  assert.equal(await removeIdentity(sql, eve!.id, identity!.id), false);
  const [password] = await sql<{ id: string }[]>`
    select id from people_accounts where person_id = ${dan!.id} and provider_id = 'credential'`;
  assert.equal(await removeIdentity(sql, dan!.id, password!.id), false);
  assert.equal(await removeIdentity(sql, dan!.id, identity!.id), true);
  assert.deepEqual(await listIdentities(sql, dan!.id), []);
});
