import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { textArray } from "./text-array.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const back = async (texts: string[]) => {
  const [row] = await database.sql<{ texts: string[] }[]>`select ${textArray(texts)}::text[] as texts`;
  return row!.texts;
};

test("texts come back as they were", async () => {
  for (const texts of [[], [""], ["", "NULL", "null", "{}", '"', "\\", ',"\\{}', "ä😀\u{10ffff}", "x".repeat(70_000)]])
    assert.deepEqual(await back(texts), texts);
  const text = fc.string({ unit: "binary" }).map((any) => any.replaceAll("\0", "").toWellFormed());
  await fc.assert(
    fc.asyncProperty(fc.array(text), async (texts) => assert.deepEqual(await back(texts), texts)),
    { numRuns: 50 },
  );
});

test("what PostgreSQL cannot hold is refused as in any other text", async () => {
  await assert.rejects(back(["a\0b"]), { code: "22021" });
});
