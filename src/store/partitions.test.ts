import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { openDb } from "./db.ts";
import { ensurePartitions, partitionsAround } from "./partitions.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => await database.drop());

async function exists(name: string): Promise<boolean> {
  const [row] = await database.sql<{ there: boolean }[]>`select to_regclass(${name}) is not null as there`;
  return row!.there;
}

test("a new partition that waits for a long reader names it, blocks no other session, and comes after it", async () => {
  const { sql, url } = database;
  const last = partitionsAround("emails", Date.now()).at(-1)!.name;
  await sql.unsafe(`drop table ${last}`);
  const reader = openDb({ url, pool: 1, log: silentLog(), name: "a dump" });
  let endReader = () => {};
  const held = new Promise<void>((resolve) => (endReader = resolve));
  let reading = false;
  const dump = reader.begin(async (tx) => {
    await tx`select count(*) from emails`;
    reading = true;
    await held;
  });
  await until("the reader", () => reading);
  const waits: string[] = [];
  const onWait = (table: string, blocker?: { application: string }) => waits.push(`${table}: ${blocker?.application}`);
  const stop = new AbortController();
  const stopped = assert.rejects(ensurePartitions(sql, { onWait, stop: stop.signal }), { message: "enough" });
  await until("a wait", () => waits.length > 0);
  stop.abort(new Error("enough"));
  await stopped;
  const making = ensurePartitions(sql, { onWait });
  await until("another wait", () => waits.length > 1);
  assert.deepEqual(waits, ["emails: a dump", "emails: a dump"]);
  // None of these queues behind it until the reader ends.
  for (let i = 0; i < 100; i++) await sql`select 1 from emails limit ${1}`;
  assert.equal(await exists(last), false);
  endReader();
  await dump;
  await making;
  assert.equal(await exists(last), true);
  await reader.end();
});

test("nodes that make partitions at the same moment all succeed", async () => {
  const { sql, url } = database;
  const gone = partitionsAround("events", Date.now()).map(({ name }) => name);
  await sql.unsafe(`drop table ${gone.join(", ")}`);
  const nodes = [1, 2, 3].map(() => openDb({ url, pool: 1, log: silentLog() }));
  await Promise.all(nodes.map((node) => ensurePartitions(node)));
  for (const name of gone) assert.equal(await exists(name), true, name);
  await Promise.all(nodes.map((node) => node.end()));
});
