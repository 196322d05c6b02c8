import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMigration, readMigrations, statementsOf } from "./migration-files.ts";

test("statements are split correctly, whatever their strings and comments contain", () => {
  const text = `-- a; b
    create table a (id int default ';', "odd;name" text); /* c; */
    do $body$ begin perform 1; end $body$;

    insert into a (id) values ('it''s; -- here')`;
  assert.deepEqual(statementsOf(text), [
    `create table a (id int default ';', "odd;name" text)`,
    "do $body$ begin perform 1; end $body$",
    "insert into a (id) values ('it''s; -- here')",
  ]);
});

test("only a file with a single statement is recognized as a concurrent index", () => {
  const text =
    "-- for searching\ncreate unique index concurrently a_by_b\n  on a using btree (b, lower(c)) where d <> ';';";
  assert.deepEqual(parseMigration("0007_a.sql", text).index, {
    name: "a_by_b",
    table: "a",
    unique: true,
    rest: "using btree (b, lower(c)) where d <> ';'",
  });
  assert.equal(parseMigration("0007_a.sql", `${text} select 1;`).index, undefined);
  assert.equal(parseMigration("0007_a.sql", "create index a_by_b on a (b);").index, undefined);
});

test("a file's existing tables, its `serves` and its validation are found", () => {
  const text =
    "-- serves: 3\ncreate table a (id int references b (id)); alter table a add c int; alter table only d add e int;";
  const { touches, serves, version, validates } = parseMigration("0007_a.sql", text);
  assert.deepEqual(
    { touches, serves, version, validates },
    { touches: ["b", "d"], serves: 3, version: 7, validates: false },
  );
  assert.equal(parseMigration("0007_a.sql", "alter table a validate constraint b;").validates, true);
});

test("every statement of the first migration is read", async () => {
  const [first] = await readMigrations();
  assert.deepEqual(first!.touches, []);
  assert.ok(statementsOf(first!.text).length > 60);
});
