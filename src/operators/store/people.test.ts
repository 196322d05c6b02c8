import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { addPerson } from "../../people/store.ts";
import { disable, enable, getPersonEntry, listPersonEntries, setOperator } from "./people.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

test("a person is disabled with all sessions and waiting sign-ins, once, and appointed once", async () => {
  const { sql } = database;
  const { id } = (await addPerson(sql, { email: "d_x@there.test", name: "D", passwordHash: "h", nowMs: Date.now() }))!;
  await sql`insert into people_sessions (id, person_id, token, expires_at)
    values (gen_random_uuid(), ${id}, 'token of d', wall_time() + interval '1 day')`;
  await sql`insert into people_sign_ins (token_hash, person_id, signed_in_by, service_expires_at)
    values ('hash of d', ${id}, 'password', service_time() + interval '1 minute')`;
  const entries = async (filter: object) =>
    (await listPersonEntries(sql, filter, { before: undefined, limit: 9 })).map(({ email }) => email);
  assert.deepEqual([await disable(sql, id), await disable(sql, id)], [true, false]);
  assert.equal((await sql`select 1 from people_sessions where person_id = ${id}`).length, 0);
  assert.equal((await sql`select 1 from people_sign_ins where person_id = ${id}`).length, 0);
  assert.deepEqual(await entries({ disabled: true }), ["d_x@there.test"]);
  assert.deepEqual(await entries({ query: "d_x" }), ["d_x@there.test"], "an underscore is a character");
  assert.deepEqual([await enable(sql, id), await enable(sql, id)], [true, false]);
  assert.deepEqual([await setOperator(sql, id, true), await setOperator(sql, id, true)], [true, false]);
  assert.deepEqual(await entries({ operatorsOnly: true }), ["d_x@there.test"]);
  assert.equal((await getPersonEntry(sql, id))?.validKeys, 0);
});
