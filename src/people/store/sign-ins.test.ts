import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeToken } from "../../ops/one-time-token.ts";
import { addPerson } from "../store.ts";
import { endSignIn, findSignIn, insertSignIn, takeTry } from "./sign-ins.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

test("a waiting sign-in has a number of tries, a limited time and one end", async () => {
  const { sql } = database;
  const person = (await addPerson(sql, { email: "a@there.test", name: "A", passwordHash: "h", nowMs: Date.now() }))!;
  const proof = { by: "oidc", hasSecondFactor: false } as const;
  const begin = async (forMs: number) => {
    const token = makeToken();
    assert.equal(await insertSignIn(sql, { token, personId: person.id, proof, forMs }), true);
    return token;
  };
  const token = await begin(60_000);
  assert.deepEqual(await findSignIn(sql, token, 3), { person, by: "oidc" });
  const tries = await Promise.all(Array.from({ length: 8 }, () => takeTry(sql, token, 3)));
  assert.equal(tries.filter(Boolean).length, 3, "concurrent tries do not exceed the limit together");
  assert.equal(await findSignIn(sql, token, 3), undefined);
  const ends = await Promise.all(Array.from({ length: 4 }, () => endSignIn(sql, token)));
  assert.equal(ends.filter(Boolean).length, 1);
  const late = await begin(-1);
  assert.deepEqual([await findSignIn(sql, late, 3), await takeTry(sql, late, 3)], [undefined, undefined]);
});
