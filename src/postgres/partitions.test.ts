import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { ensurePartitions, partitionsAround } from "./partitions.ts";
import { openDb } from "./pool.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(async () => await database.drop());

async function exists(name: string): Promise<boolean> {
  const [row] = await database.sql<{ there: boolean }[]>`select to_regclass(${name}) is not null as there`;
  return row!.there;
}

test("a new partition that waits for a long reader reports it, blocks no other session, and is created afterwards", async () => {
  const { sql, url } = database;
  const last = partitionsAround("emails", Date.now()).at(-1)!.name;
  await sql.unsafe(`drop table ${last}`);
  const reader = openDb({ url, pool: 1, log: silentLog(), name: "a dump" });
  let endReader = () => {};
  const readerEnded = new Promise<void>((resolve) => (endReader = resolve));
  let reading = false;
  const dump = reader.begin(async (tx) => {
    await tx`select count(*) from emails`;
    reading = true;
    await readerEnded;
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
  // None of these queries queues behind the waiting change.
  for (let i = 0; i < 100; i++) await sql`select 1 from emails limit ${1}`;
  assert.equal(await exists(last), false);
  endReader();
  await dump;
  await making;
  assert.equal(await exists(last), true);
  await reader.end();
});

test("nodes that create the same partitions at the same time all succeed", async () => {
  const { sql, url } = database;
  const dropped = partitionsAround("events", Date.now()).map(({ name }) => name);
  await sql.unsafe(`drop table ${dropped.join(", ")}`);
  const nodes = [1, 2, 3].map(() => openDb({ url, pool: 1, log: silentLog() }));
  await Promise.all(nodes.map((node) => ensurePartitions(node)));
  for (const name of dropped) assert.equal(await exists(name), true, name);
  await Promise.all(nodes.map((node) => node.end()));
});
