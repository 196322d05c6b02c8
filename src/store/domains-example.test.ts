import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { noteExampleOffered, wasExampleOffered } from "./domains-example.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase({ example: true });
});
after(async () => await database.drop());

test("it is offered once in an instance's life, and a start that is undone has not offered it", async () => {
  const { sql } = database;
  assert.equal(await wasExampleOffered(sql), false);
  const undone = sql.begin(async (tx) => {
    assert.equal(await noteExampleOffered(tx, "example.test"), true);
    throw new Error("the process died here");
  });
  await assert.rejects(undone, /died here/);
  assert.equal(await wasExampleOffered(sql), false);
  assert.deepEqual(
    (await Promise.all([1, 2, 3].map(() => noteExampleOffered(sql, "example.test")))).filter((first) => first),
    [true],
  );
  assert.equal(await wasExampleOffered(sql), true);
});
