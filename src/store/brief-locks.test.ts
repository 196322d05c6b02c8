import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../test/harness/database.ts";
import { briefly, holdFor } from "./brief-locks.ts";

test("a change may hold its locks for 100 ms, and for longer only after many tries on a slow machine", () => {
  assert.deepEqual([0, 9, 10, 20, 1000].map(holdFor), [100, 100, 200, 400, 3200]);
});

test("a change that takes too long is rolled back and tried again; any other failure rises", async () => {
  const database = await createTestDatabase();
  const { sql } = database;
  await sql.unsafe("create table tries (n int); create sequence attempts");
  const waits: unknown[] = [];
  const options = { tables: ["tries"], onWait: (blocker: unknown) => waits.push(blocker) };
  await briefly(
    sql,
    async (tx) => {
      await tx.unsafe("insert into tries values (1)");
      const [row] = await tx<{ n: number }[]>`select nextval('attempts')::int as n`;
      if (row!.n < 3) await tx.unsafe("select pg_sleep(60)");
    },
    options,
  );
  assert.deepEqual([...(await sql`select n from tries`)], [{ n: 1 }]);
  assert.equal(waits[0], undefined, "no other session is in the way");
  assert.equal(waits.length > 0, true);
  await assert.rejects(
    briefly(sql, (tx) => tx.unsafe("select 1 / 0"), options),
    /division by zero/,
  );
  await database.drop();
});
