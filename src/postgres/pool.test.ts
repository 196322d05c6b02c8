import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../../test/harness/database-proxy.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { isDatabaseAway, openDb, ping, retrying, type Sql } from "./pool.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

describe("a lost connection", () => {
  let proxy: DatabaseProxy;
  let sql: Sql;
  beforeEach(async () => {
    proxy = await startDatabaseProxy(database.url);
    sql = openDb({ url: proxy.url, pool: 2, log: silentLog() });
  });
  afterEach(async () => {
    await sql.end();
    await proxy.close();
  });

  // A statement goes on in the server after the cut, so each test sleeps for a different time to find its own.
  let seconds = 60;
  for (const how of ["end", "reset"] as const) {
    const isAway = (error: unknown) => {
      assert.ok(isDatabaseAway(error), String((error as Error)?.stack));
      return true;
    };
    const worksAgain = async () => {
      // More queries at once than the pool has connections, so that every connection must have recovered.
      await Promise.all([1, 2, 3, 4].map(() => retryingAway(() => ping(sql))));
      assert.deepEqual(await sql.begin(async (tx) => (await tx`select 1 as n`)[0]?.n), 1);
    };

    it(`fails the running statement (${how})`, async () => {
      await ping(sql);
      const sleep = `pg_sleep(${++seconds})`;
      const slow = sql.unsafe(`select ${sleep}`).then(() => {});
      slow.catch(() => {});
      await untilRunning(sleep);
      proxy.cut(how);
      await assert.rejects(slow, isAway);
      await worksAgain();
    });

    it(`fails a transaction with a running statement (${how})`, async () => {
      const sleep = `pg_sleep(${++seconds})`;
      const done = sql.begin(async (tx) => {
        await tx`select 1`;
        await tx.unsafe(`select ${sleep}`);
      });
      done.catch(() => {});
      await untilRunning(sleep);
      proxy.cut(how);
      await assert.rejects(done, isAway);
      await worksAgain();
    });

    it(`fails the next statement of a transaction that was idle (${how})`, async () => {
      const lost = new Promise((resolve) => sql.pool.once("connect", (client) => client.once("end", resolve)));
      const done = sql.begin(async (tx) => {
        await tx`select 1`;
        proxy.cut(how);
        await lost;
        await tx`select 2`;
      });
      await assert.rejects(done, isAway);
      await worksAgain();
    });
  }

  async function untilRunning(query: string): Promise<void> {
    await until(`${query} to run`, async () => {
      const rows = await database.sql`select 1 from pg_stat_activity where state = 'active'
        and datname = current_database() and query = ${`select ${query}`}`;
      return rows.length > 0;
    });
  }
});

it("a failed transaction is rolled back and rejects with its own error", async () => {
  await database.sql`create table rolled (n int)`;
  const own = new Error("own");
  await assert.rejects(
    database.sql.begin(async (tx) => {
      await tx`insert into rolled values (1)`;
      throw own;
    }),
    own,
  );
  await assert.rejects(
    database.sql.begin(async (tx) => {
      await tx`insert into rolled values (1)`;
      await tx`select 1 / 0`;
    }),
    { code: "22012" },
  );
  assert.deepEqual([...(await database.sql`select n from rolled`)], []);
});

it("retrying repeats work after deadlocks and serialization failures only", async () => {
  let tries = 0;
  const failing = (code: string, times: number) => async () => {
    if (tries++ < times) throw Object.assign(new Error(code), { code });
    return "done";
  };
  assert.equal(await retrying(failing("40P01", 2)), "done");
  assert.equal(tries, 3);
  tries = 0;
  await assert.rejects(retrying(failing("40001", 99), 3), { code: "40001" });
  assert.equal(tries, 3);
  tries = 0;
  await assert.rejects(retrying(failing("23505", 99)), { code: "23505" });
  assert.equal(tries, 1);
});

async function retryingAway(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    try {
      await work();
      return;
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
    }
  }
  assert.fail("the database never came back");
}
