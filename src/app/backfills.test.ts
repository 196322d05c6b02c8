import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createThings, missing, thingRows, uppers } from "../../test/harness/backfill.ts";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { type Backfill, outstandingBackfills } from "../postgres/backfill.ts";
import { openDb } from "../postgres/pool.ts";
import { createBackfills } from "./backfills.ts";

const log = silentLog();
let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  await createThings(database.sql);
});
afterEach(async () => await database.drop());

const finished = async () => (await outstandingBackfills(database.sql, [uppers])).length === 0;

test("a backfill fills every row once although its connections are terminated repeatedly", async () => {
  const sql = openDb({ url: database.url, pool: 3, log, name: "backfilling" });
  const deps = { sql, log, backfills: [uppers], batchRows: 50, shortestPauseMs: 1, recheckMs: 5 };
  let loop = createBackfills(deps);
  loop.start();
  for (let round = 0; round < 8; round++) {
    const before = await missing(database.sql);
    await until("more rows", async () => (await missing(database.sql)) < before || (await finished()));
    await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'backfilling' and datname = current_database()`;
    if (round % 3 !== 2) continue;
    // Stop in the middle and let another instance resume.
    await loop.stop();
    loop = createBackfills(deps);
    loop.start();
  }
  await until("the end of the backfill", finished);
  await loop.stop();
  await sql.end();
  const [row] =
    await database.sql`select count(*)::int as n, min(visits) as least, max(visits) as most from things where upper = upper(name)`;
  assert.deepEqual(row, { n: thingRows, least: 1, most: 1 });
  const [state] = await database.sql`select rows::int from backfills`;
  assert.deepEqual(state, { rows: thingRows });
});

test("a failed batch changes nothing, and the loop retries it", async () => {
  let failures = 0;
  const failing: Backfill = {
    ...uppers,
    async batch(...args) {
      const done = await uppers.batch(...args);
      if (failures++ < 3) throw new Error("after the rows, before the position");
      return done;
    },
  };
  const loop = createBackfills({
    sql: database.sql,
    log,
    backfills: [failing],
    batchRows: 2_500,
    shortestPauseMs: 1,
    recheckMs: 1,
  });
  loop.start();
  await until("the end of the backfill", finished);
  await loop.stop();
  const [row] = await database.sql`select max(visits) as most from things`;
  assert.deepEqual(row, { most: 1 });
});
