import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeUuid } from "./ids.ts";
import { listPartitions, partitionAt } from "./partitions.ts";
import type { Sql } from "./pool.ts";
import { byWeek, inWeek, listWeeks, oneRow, type Tables, weekAt, weekOf } from "./weeks.ts";

const weekMs = 7 * 86_400_000;
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const readTable = (sql: Sql, tables: Tables) =>
  sql<
    { name: string }[]
  >`select ${"x"}::text as x, to_regclass(min(tableoid::regclass::text)) as name from ${tables("emails")}`;

test("ids are grouped by week, in order, and a week is that of the partition that has the id", () => {
  const at = weekAt(Date.now());
  const ids = [at + weekMs, at - 1, at, at + weekMs - 1].map((ms) => makeUuid(ms));
  assert.deepEqual(
    byWeek(ids, (id) => id).map(([week, some]) => [week, some]),
    [
      [at - weekMs, [ids[1]]],
      [at, [ids[2], ids[3]]],
      [at + weekMs, [ids[0]]],
    ],
  );
  for (const id of ids) {
    const { from, to } = partitionAt("emails", weekOf(id));
    assert.ok(id >= from && id < to);
  }
});

test("the weeks are those of the partitions", async () => {
  const partitions = (await listPartitions(database.sql)).filter(({ table }) => table === "recipients");
  assert.deepEqual(
    await listWeeks(database.sql),
    partitions.map(({ startMs }) => startMs),
  );
  const { name } = partitionAt("recipients", weekAt(Date.now()));
  await database.sql.unsafe(`alter table ${name} rename to recipients_renamed`);
  assert.equal(await listWeeks(database.sql), undefined);
  await database.sql.unsafe(`alter table recipients_renamed rename to ${name}`);
});

test("a statement names the partition of its week, and the parent if there is no partition, also in a transaction", async () => {
  const { sql } = database;
  const read = async (week: number | undefined, inTransaction = false) => {
    const texts: string[] = [];
    const rows = await sql.begin(
      async (tx) =>
        await inWeek(
          tx,
          week,
          (own, tables) => {
            texts.push(tables("emails").strings.join(""));
            return readTable(own, tables);
          },
          { inTransaction },
        ),
    );
    assert.equal(rows.length, 1);
    return texts;
  };
  const week = weekAt(Date.now());
  assert.deepEqual(await read(week, true), [partitionAt("emails", week).name]);
  assert.deepEqual(await read(undefined), ["emails"]);
  const gone = week - 500 * weekMs;
  assert.deepEqual(await read(gone, true), [partitionAt("emails", gone).name, "emails"]);
  const alone: string[] = [];
  await inWeek(sql, gone, (own, tables) => {
    alone.push(tables("emails").strings.join(""));
    return readTable(own, tables);
  });
  assert.deepEqual(alone, [partitionAt("emails", gone).name, "emails"]);
});

test("another error of a statement is not repeated on the parent", async () => {
  let runs = 0;
  await assert.rejects(
    inWeek(database.sql, weekAt(Date.now()), (sql) => {
      runs++;
      return sql`select 1 / ${0}::int`;
    }),
    { code: "22012" },
  );
  assert.equal(runs, 1);
});

test("oneRow finds a row in its week and in others, and reads one partition if the row is there", async () => {
  const { sql } = database;
  const workspaceId = makeUuid(Date.now());
  const ids = [weekAt(Date.now()), weekAt(Date.now()) + weekMs].map((ms) => makeUuid(ms));
  for (const id of ids)
    await sql`insert into emails (workspace_id, id, domain_id, domain, from_address, subject, message_id, envelope, open, total, size_bytes,
        content_day, expires_at)
      values (${workspaceId}, ${id}, ${id}, 'd.test', 'a@d.test', ${id}, ${id}, '{}', 0, 1, 1, current_date, now())`;
  const find = (own: Sql, tables: Tables, id: string) =>
    oneRow(own, {
      tables,
      table: "emails",
      columns: own`subject`,
      condition: own`workspace_id = ${workspaceId} and id = ${id}`,
    });
  for (const id of [...ids, makeUuid(Date.now())]) {
    const rows = await inWeek(
      sql,
      weekAt(Date.now()),
      (own, tables) => own<{ subject: string }[]>`${find(own, tables, id)}`,
    );
    assert.deepEqual(
      rows.map(({ subject }) => subject),
      ids.includes(id) ? [id] : [],
    );
  }
  const plan = await inWeek(
    sql,
    weekAt(Date.now()),
    (own, tables) =>
      own<{ "QUERY PLAN": string }[]>`explain (analyze, costs off, timing off) ${find(own, tables, ids[0]!)}`,
  );
  const scans = plan.map((row) => row["QUERY PLAN"]).filter((line) => /Scan .*emails_p/.test(line));
  assert.equal(scans.filter((line) => !line.includes("never executed")).length, 1, scans.join("\n"));
});
