import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { type DatabaseProxy, type Fate, startDatabaseProxy } from "../../test/harness/database-proxy.ts";
import { holdLock } from "../../test/harness/held-lock.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { inCallScope } from "./call-scope.ts";
import { isDatabaseAway, OutcomeUnknown } from "./outage.ts";
import { openDb, type Sql } from "./pool.ts";

let database: TestDatabase;
let proxy: DatabaseProxy;
let sql: Sql;
before(async () => {
  database = await createTestDatabase();
  await database.sql.unsafe("create table kept (n int)");
});
after(async () => await database.drop());
beforeEach(async () => {
  proxy = await startDatabaseProxy(database.url);
  sql = openDb({ url: proxy.url, pool: 2, log: silentLog() });
  await database.sql.unsafe("truncate kept");
});
afterEach(async () => {
  await sql.end();
  await proxy.close();
});

const isCommit = (text: string) => text.includes("commit\0");
const isInsert = (text: string) => text.includes("insert into kept");

/** The first message that matches meets its fate; all later ones are forwarded. */
function once(matches: (text: string) => boolean, fate: Fate): void {
  let met = false;
  proxy.fateOf((text) => {
    if (met || !matches(text)) return "forward";
    met = true;
    return fate;
  });
}

const count = async () => (await database.sql`select 1 from kept`).length;
const write = () => sql.write<{ n: number }[]>`insert into kept values (${7}) returning n`;

function isPlainOutage(error: unknown): true {
  assert.ok(isDatabaseAway(error) && !(error instanceof OutcomeUnknown), String(error));
  return true;
}

test("a write whose commit got no answer succeeds with its rows, and is stored once", async () => {
  once(isCommit, "lose answer");
  assert.deepEqual(await write(), [{ n: 7 }]);
  assert.equal(await count(), 1);
});

test("so does a transaction, with its result", async () => {
  once(isCommit, "lose answer");
  const result = await sql.begin(async (tx) => {
    await tx`insert into kept values (${1})`;
    await tx`insert into kept values (${2})`;
    return "both";
  });
  assert.equal(result, "both");
  assert.equal(await count(), 2);
});

test("a commit that never reached the server is reported as not stored, and can never be stored later", async () => {
  once(isCommit, "lose");
  await assert.rejects(write().then(), isPlainOutage);
  assert.equal(await count(), 0);
});

test("a statement whose answer is lost before the commit is not stored", async () => {
  once(isInsert, "lose answer");
  await assert.rejects(write().then(), isPlainOutage);
  assert.equal(await count(), 0);
});

test("when the connection ends while the server commits, success means stored once and failure means not stored", async () => {
  let told = 0;
  for (let i = 0; i < 20; i++) {
    once(isCommit, "cut");
    await write().then(() => told++, isPlainOutage);
  }
  assert.equal(await count(), told);
});

test("a commit that waits behind the look-up's lock is waited for", async () => {
  // A deferred trigger makes the commit wait for a lock, after the receipt was inserted. It waits longer than our lock_timeout, and the
  // look-up longer than by default, because a busy machine may take that long for the steps of this test.
  await database.sql.unsafe(`create table slow (n int);
    create function wait_at_commit() returns trigger language plpgsql set lock_timeout = 0 as $$ begin perform pg_advisory_xact_lock(4711); return null; end $$;
    create constraint trigger slow_commit after insert on slow deferrable initially deferred for each row execute function wait_at_commit()`);
  const lock = await holdLock(database.url, "select pg_advisory_xact_lock(4711)");
  const writing = inCallScope({ committed: 0, timeLeftMs: () => 60_000, check() {}, sent() {} }, () =>
    sql.write`insert into slow values (${1})`.then(() => "stored"),
  );
  // A connection that ends earlier lets the look-up come first, and then the write is not stored.
  await until("the commit to wait for the lock", async () => {
    const rows = await database.sql`select 1 from pg_stat_activity where datname = current_database()
      and wait_event = 'advisory' and query like '%commit'`;
    return rows.length > 0;
  });
  proxy.cut("reset");
  await until("the look-up to wait for the commit", async () => {
    const rows = await database.sql`select 1 from pg_stat_activity where datname = current_database()
      and wait_event = 'transactionid' and query like '%do update%'`;
    return rows.length > 0;
  });
  await lock.release();
  assert.equal(await writing, "stored");
});

test("when the database stays away, the outcome is unknown, and the write keeps its result", async () => {
  once(isCommit, "go away");
  const writing = inCallScope({ committed: 0, timeLeftMs: () => 1, check() {}, sent() {} }, () =>
    write().then(() => {}),
  );
  await assert.rejects(writing, OutcomeUnknown);
  assert.equal(await count(), 1);
  proxy.comeBack();
});

test("a plain statement that writes is unknown when its answer is lost, and one that reads is not", async () => {
  once(isInsert, "lose answer");
  await assert.rejects(async () => await sql`insert into kept values (${1})`, OutcomeUnknown);
  once((text) => text.includes("select 4242"), "lose answer");
  await assert.rejects(async () => await sql`select 4242`, isPlainOutage);
});

test("an answer of the server is no doubt: the write failed with its own error", async () => {
  await assert.rejects(async () => await sql.write`insert into kept values (1 / ${0}::int)`, { code: "22012" });
  assert.deepEqual(await write(), [{ n: 7 }]);
});

test("a transaction that writes nothing leaves no receipt", async () => {
  const receipts = () => database.sql`select 1 from idempotency`;
  const before = (await receipts()).length;
  await sql.begin(async (tx) => await tx`select 1`);
  assert.equal((await receipts()).length, before);
});
