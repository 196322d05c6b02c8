import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../../test/harness/database.ts";
import { addLinkKey, readLinkKeys } from "./keys.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const newKey = (number: number) => ({ id: randomUUID(), number, sealed: `sealed ${number} ${randomUUID()}` });

test("of nodes that store a first key at the same time, one does", async () => {
  const { sql } = database;
  assert.deepEqual(await readLinkKeys(sql), []);
  const keys = Array.from({ length: 5 }, () => newKey(1));
  await Promise.all(keys.map((key) => addLinkKey(sql, key)));
  const stored = await readLinkKeys(sql);
  assert.equal(stored.length, 1);
  assert.ok(keys.some(({ sealed }) => sealed === stored[0]!.sealed));
});

test("the newest key comes first, because it makes the links", async () => {
  await addLinkKey(database.sql, newKey(2));
  assert.deepEqual(
    (await readLinkKeys(database.sql)).map(({ number }) => number),
    [2, 1],
  );
});
