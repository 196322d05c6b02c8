import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { migrationsFolder, parseMigration, readMigrations } from "../src/postgres/migration-files.ts";
import { faultsOf, faultsOfFolder } from "./migration-rules.ts";

const earlier = [
  parseMigration("0001_core.sql", "create table emails (id int); create table people (id int);"),
  parseMigration("0002_a.sql", "alter table emails add constraint emails_kind check (kind is not null) not valid;"),
  parseMigration("0003_b.sql", "alter table emails validate constraint emails_kind;"),
];
const faults = (text: string) => faultsOf(parseMigration("0004_new.sql", text), earlier);

test("the migrations of this checkout are unchanged since their release and follow the rules", async () => {
  const released = await readFile(new URL("released.txt", migrationsFolder), "utf8");
  assert.deepEqual(faultsOfFolder(await readMigrations(), released), []);
});

test("changed, unlisted and missing files are reported with the fix", async () => {
  const released = await readFile(new URL("released.txt", migrationsFolder), "utf8");
  const real = await readMigrations();
  const changed = [parseMigration("0001_core.sql", `${real[0]!.text}\n`), ...real.slice(1)];
  assert.match(faultsOfFolder(changed, released).join("\n"), /frozen byte for byte.*0001_core\.sql has changed/s);
  // Also if released.txt was changed to match.
  const list = released.replace(real[0]!.checksum, changed[0]!.checksum);
  assert.match(faultsOfFolder(changed, list).join("\n"), /frozen byte for byte/);
  const added = parseMigration("0099_new.sql", "create table a (id int);");
  assert.match(faultsOfFolder([...real, added], released).join("\n"), new RegExp(`${added.checksum}  0099_new.sql`));
  assert.match(faultsOfFolder(real.slice(0, 1), released).join("\n"), /0002_versions\.sql is listed.*missing/);
});

test("a backfill names an existing migration", async () => {
  const released = await readFile(new URL("released.txt", migrationsFolder), "utf8");
  const real = await readMigrations();
  const named = (since: number) => faultsOfFolder(real, released, [{ name: "notes", since }]);
  assert.deepEqual(named(real.length), []);
  assert.match(named(real.length + 1).join("\n"), /"notes".*there is no such migration/);
});

for (const text of [
  "create table a (id int primary key, email_id int references emails (id)); create index a_by_email on a (email_id); alter table a add column b serial;",
  "alter table emails add column a text",
  "alter table emails add column a text not null default '', add column b timestamptz default now(), add c int[] not null default '{}'::int[]",
  'alter table emails add column a jsonb not null default \'{"a": "b, (c"}\'',
  "create index concurrently emails_by_a on emails (a, lower(b)) where a <> ';'",
  "-- serves: 2\ncreate unique index concurrently emails_by_a on emails using btree (a)",
  "-- serves: 2\nalter table emails add constraint emails_a check (a > 0) not valid",
  "-- serves: 2\nalter table emails add constraint emails_a foreign key (a) references emails (id) not valid",
  "create trigger t after insert on workers for each row when (new.a is null) execute function f()",
  "create table emails_p1 partition of emails for values from (1) to (2)",
  "-- serves: 1\nalter table emails drop constraint emails_status_check, add constraint emails_status_check check (status in ('a', 'b')) not valid",
  "alter table emails validate constraint emails_a",
  "-- serves: 3\nalter table emails alter column kind set not null",
  "alter table emails alter column a set default 'x'",
  "insert into settings (name, value) values ('a', 'drop table')",
  "create table a (name text); insert into a (name) select c.relname from pg_class c join pg_inherits i on c.oid = i.inhrelid",
  "create function one() returns int language plpgsql stable as $$ begin return 1; end $$",
  "create table a (id bigint generated always as identity); create trigger t before update on a for each row execute function f()",
  "-- drop table emails;\n/* update emails set a = 1; */\ncomment on table emails is 'It''s; fine'",
])
  test(`allowed: ${text.slice(0, 70)}`, () => assert.deepEqual(faults(text), []));

const refusals: [text: string, why: RegExp][] = [
  ["drop table emails", /older programs still use it/],
  ["create table a (id int); insert into a (id) select id from emails", /changes existing rows/],
  ["insert into people (id) select oid from pg_class", /changes existing rows/],
  ["create or replace function a() returns int language sql return 2", /may create tables and functions/],
  ["create trigger t before update on emails for each row execute function f()", /may create tables and functions/],
  ["create table a as select 1", /may create tables and functions/],
  ["alter table emails drop column a", /older programs still use it/],
  ["alter table emails drop constraint emails_pkey", /older programs still use it/],
  ["alter table emails alter column a type bigint", /rewrites the table/],
  ["alter table emails alter a set data type bigint", /rewrites the table/],
  ["alter table emails rename column a to b", /old name/],
  ["alter table emails rename to mails", /old name/],
  ["alter table emails alter column a set not null", /check \(a is not null\) not valid/],
  ["alter table people alter column kind set not null", /check \(kind is not null\) not valid/],
  ["alter table emails add column a uuid default gen_random_uuid()", /not a constant/],
  ["alter table emails add column a timestamptz default clock_timestamp()", /not a constant/],
  ["alter table emails add column a text not null", /Give it a default/],
  ["alter table emails add column a int generated always as (b + 1) stored", /rewrites every row/],
  ["alter table emails add column a bigserial", /rewrites every row/],
  ["alter table emails add column a uuid references people (id)", /reads the whole table/],
  ["alter table emails add column a int check (a > 0)", /reads the whole table/],
  ["alter table emails add column a int, drop column b", /older programs still use it/],
  ["alter table emails add constraint x check (a > 0)", /not valid/],
  ["alter table emails add primary key (a)", /locks the table/],
  ["alter table emails validate constraint x; create table b (id int)", /its own file/],
  ["alter table stats add column opened integer not null default 0", /Make the column nullable/],
  ["create index emails_by_a on emails (a)", /concurrently/],
  ["create index concurrently a on emails (a); create table b (id int)", /its own file/],
  ["create index concurrently a on only emails (a)", /without schema/],
  ["update emails set a = 1", /backfill/],
  ["delete from emails", /backfill/],
  ["insert into emails (a) select 1 from people", /backfill/],
  ["with x as (select 1) insert into emails (a) select * from x", /backfill/],
  ["create table a as select * from emails", /backfill/],
  ["do $$ begin update emails set a = 1; end $$", /cannot be checked/],
  ["truncate emails", /backfill/],
  ["alter table emails set unlogged", /locks the table/],
  ["alter table emails add column a text; alter table people add column a text", /one file for each existing table/],
  ["create table a (id int references emails (id)); alter table people add b int", /one file for each existing table/],
  ["alter table emails alter column a drop default", /rely on its default/],
  ["alter table emails alter a drop default", /rely on its default/],
  ["alter table emails add constraint x check (a is not null) not valid", /-- serves: N/],
  ["alter table emails add constraint x foreign key (a) references people (id) not valid", /-- serves: N/],
  ["alter table emails alter column kind set not null", /-- serves: N/],
  ["create unique index concurrently emails_by_a on emails (a)", /-- serves: N/],
  ["create table a partition of emails default; alter table people add b int", /locks emails and people/],
  ["create table a () inherits (emails, people)", /locks emails and people/],
  ["create table a (); alter table a inherit emails; alter table people add b int", /locks emails and people/],
  ["-- serves: 9\ncreate table a (id int)", /version from 1 to 4/],
  ["create extension hstore", /a migration may/],
];
for (const [text, why] of refusals)
  test(`refused: ${text.slice(0, 70)}`, () => {
    const found = faults(text);
    assert.match(found.join("\n"), why);
  });
