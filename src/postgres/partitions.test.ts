import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { shiftWallTime } from "../../test/harness/time.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { ensurePartitions, partitionsAround, readTimes } from "./partitions.ts";
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

const dayMs = 86_400_000;

/** Starts a session that reads the table in a long transaction. Returns a function that ends it. */
async function startReader(table: string): Promise<() => Promise<void>> {
  const reader = openDb({ url: database.url, pool: 1, log: silentLog(), name: "a dump" });
  const end = Promise.withResolvers<void>();
  let reading = false;
  const dump = reader.begin(async (tx) => {
    await tx.unsafe(`select count(*) from ${table}`);
    reading = true;
    await end.promise;
  });
  await until("the reader", () => reading);
  return async () => {
    end.resolve();
    await dump;
    await reader.end();
  };
}

test("a new partition that waits for a long reader reports it, blocks no other session, and is created afterwards", async () => {
  const { sql } = database;
  const last = partitionsAround("emails", Date.now()).at(-1)!.name;
  await sql.unsafe(`drop table ${last}`);
  const endReader = await startReader("emails");
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
  await endReader();
  await making;
  assert.equal(await exists(last), true);
});

test("ids and events do not follow a jump whose partitions are created only after the clock is right again", async () => {
  const { sql } = database;
  const endReader = await startReader("recipients");
  await shiftWallTime(sql, "400 days");
  let waits = 0;
  const making = ensurePartitions(sql, { onWait: () => waits++ });
  await until("a wait", () => waits > 0);
  await shiftWallTime(sql, "0 days");
  await endReader();
  await making;
  const { wallMs, partitionsMs } = await readTimes(sql);
  assert.ok(Math.abs(wallMs - partitionsMs) < dayMs, `${(partitionsMs - wallMs) / dayMs} days ahead`);
});

test("ids and events follow the clock while partitions that they do not need yet wait for a lock", async () => {
  const { sql } = database;
  const endReader = await startReader("email_contents");
  let waits = 0;
  const following = async () => {
    const { wallMs, partitionsMs } = await readTimes(sql);
    return Math.abs(wallMs - partitionsMs) < dayMs / 2;
  };
  await shiftWallTime(sql, "30 hours");
  const making = ensurePartitions(sql, { onWait: () => waits++, patienceMs: 500 });
  await until("a wait", () => waits > 0);
  assert.ok(await following(), "before the wait");
  // The lock is held for days.
  await shiftWallTime(sql, "60 hours");
  await until("the next days", following);
  await endReader();
  await making;
  for (const { name } of partitionsAround("email_contents", (await readTimes(sql)).wallMs))
    assert.equal(await exists(name), true, name);
});

test("ids and events wait for the content partition of mail that is scheduled as late as possible", async () => {
  const { sql } = database;
  const day = new Date(Date.now() + 31 * dayMs).toISOString().slice(0, 10).replaceAll("-", "");
  await sql.unsafe(`drop table email_contents_p${day}`);
  const before = await readTimes(sql);
  const endReader = await startReader("email_contents");
  let waits = 0;
  const making = ensurePartitions(sql, { onWait: () => waits++ });
  await until("a wait", () => waits > 0);
  assert.equal((await readTimes(sql)).partitionsMs, before.partitionsMs);
  await endReader();
  await making;
  assert.equal(await exists(`email_contents_p${day}`), true);
  assert.ok((await readTimes(sql)).partitionsMs > before.partitionsMs);
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
