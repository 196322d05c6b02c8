import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createThings, missing, uppers } from "../../test/harness/backfill.ts";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { type Backfill, outstandingBackfills, reopenBackfills, runBatch } from "./backfill.ts";
import { forgetWorker, registerWorker } from "./workers.ts";

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  await createThings(database.sql);
});
afterEach(async () => await database.drop());

const finished = async () => (await outstandingBackfills(database.sql, [uppers])).length === 0;

test("a backfill runs in batches that store their position, and is recorded as finished", async () => {
  const { sql } = database;
  assert.deepEqual(await outstandingBackfills(sql, [uppers]), [{ name: "upper names", rows: 0, waitsFor: [] }]);
  assert.deepEqual(await runBatch(sql, uppers, 2_000), { kind: "worked", rows: 2_000, total: 2_000 });
  assert.equal((await outstandingBackfills(sql, [uppers]))[0]!.rows, 2_000);
  await runBatch(sql, uppers, 2_000);
  assert.deepEqual(await runBatch(sql, uppers, 2_000), { kind: "worked", rows: 1_000, total: 5_000 });
  assert.deepEqual(await runBatch(sql, uppers, 2_000), { kind: "finished", rows: 0, total: 5_000 });
  assert.deepEqual(await runBatch(sql, uppers, 2_000), { kind: "nothing" });
  assert.ok(await finished());
  assert.equal(await missing(sql), 0);
});

test("while one node runs a batch, another node gets `busy`", async () => {
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let running = false;
  const slow: Backfill = {
    ...uppers,
    async batch(...args) {
      running = true;
      await released;
      return await uppers.batch(...args);
    },
  };
  const first = runBatch(database.sql, slow, 10);
  await until("the first batch", () => running);
  assert.deepEqual(await runBatch(database.sql, uppers, 10), { kind: "busy" });
  release();
  assert.deepEqual(await first, { kind: "worked", rows: 10, total: 10 });
});

test("a backfill waits while a node with an older program runs, and then starts from the beginning", async () => {
  const { sql } = database;
  await runBatch(sql, uppers, 10_000);
  await runBatch(sql, uppers, 10_000);
  assert.ok(await finished());
  // A program of schema version 1 registers without a version, one of version 2 with its own. Both write rows without the new column.
  const older = [
    await registerWorker(sql, { host: "old", pid: 7, roles: ["api"], version: "0" }),
    await registerWorker(sql, { host: "older", pid: 8, roles: ["api"], version: "0", schemaVersion: 2 }),
  ];
  await registerWorker(sql, { host: "new", pid: 9, roles: ["api"], version: "0", schemaVersion: 3 });
  const nodes = [
    { host: "old", pid: 7, schemaVersion: 1 },
    { host: "older", pid: 8, schemaVersion: 2 },
  ];
  assert.deepEqual(await runBatch(sql, uppers, 10_000), { kind: "waits", nodes });
  assert.deepEqual((await outstandingBackfills(sql, [uppers]))[0]!.waitsFor, nodes);
  await sql`update things set upper = null where id = 7`;
  await sql`update workers set beat_at = beat_at - interval '1 hour' where id = any(${older}::int[])`;
  await runBatch(sql, uppers, 10_000);
  await runBatch(sql, uppers, 10_000);
  assert.ok(await finished());
  assert.equal(await missing(sql), 0);
});

test("a program of version 1, which knows no backfills, reopens them even if it runs only between two batches", async () => {
  const { sql } = database;
  for (let n = 0; n < 2; n++) await runBatch(sql, uppers, 10_000);
  await registerWorker(sql, { host: "new", pid: 9, roles: ["api"], version: "0", schemaVersion: 3 });
  assert.ok(await finished());
  await forgetWorker(sql, await registerWorker(sql, { host: "old", pid: 7, roles: ["api"], version: "0" }));
  assert.ok(!(await finished()));
  await sql`update things set upper = null where id = 7`;
  for (let n = 0; n < 2; n++) await runBatch(sql, uppers, 10_000);
  assert.ok(await finished());
  assert.equal(await missing(sql), 0);
});

test("an older program that starts on a newer schema reopens the backfills that its rows need", async () => {
  const { sql } = database;
  const other = { ...uppers, name: "of version 2", since: 2 };
  for (const backfill of [uppers, uppers, other, other]) await runBatch(sql, backfill, 10_000);
  assert.equal((await outstandingBackfills(sql, [uppers, other])).length, 0);
  await reopenBackfills(sql, 2);
  assert.deepEqual(
    (await outstandingBackfills(sql, [])).map(({ name }) => name),
    ["upper names"],
    "also when this program does not have that backfill",
  );
});
