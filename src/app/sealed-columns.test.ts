import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { sealedColumns } from "./sealed-columns.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database?.drop());

it("the list has every sealed column of the schema, with the primary key of its table", async () => {
  const found = await database.sql<{ table: string; column: string; key: string[] }[]>`
    select c.relname as table, a.attname as column,
      (select array_agg(k.attname::text order by array_position(i.indkey::int2[], k.attnum)) from pg_attribute k
        where k.attrelid = c.oid and k.attnum = any(i.indkey)) as key
    from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = 'public'::regnamespace and a.attname ~ 'sealed' and not c.relispartition order by 1, 2`;
  const listed = sealedColumns.map(({ table, column, key }) => ({ table, column, key: [...key] }));
  const order = (a: { table: string; column: string }, b: typeof a) =>
    `${a.table} ${a.column}` < `${b.table} ${b.column}` ? -1 : 1;
  assert.ok(found.length >= 3);
  assert.deepEqual(listed.sort(order), found.map((one) => ({ ...one })).sort(order));
});
