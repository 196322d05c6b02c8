/** Deadlines and shutdown: a deadline that passes, a write that has started, a SIGTERM during calls. */
import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type Answer, type RunningProgram, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let program: RunningProgram;
before(async () => {
  database = await createTestDatabase();
  program = await startProgram({ databaseUrl: database.url });
});
// Each test starts with only the first key.
beforeEach(async () => void (await database.sql`delete from keys where name <> 'first key'`));
after(async () => {
  await program?.remove();
  await database?.drop();
});

/** Locks the table of keys, so that calls that need it wait until the test releases the lock. */
async function lockKeys(mode: "share" | "access exclusive"): Promise<{ release(): Promise<void> }> {
  const released = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const done = database.sql.begin(async (tx) => {
    await tx.unsafe(`lock table keys in ${mode} mode`);
    locked.resolve();
    await released.promise;
  });
  await Promise.race([locked.promise, done]);
  return {
    async release() {
      released.resolve();
      await done;
    },
  };
}

/** Waits until this many calls that create keys have been waiting for a lock for longer than the given time: one for the lock of the test,
 * the others for it, because calls that a quota limits count one after the other. */
async function insertsWaiting(count: number, longerThanMs = 0): Promise<void> {
  await until(`${count} inserts to wait`, async () => {
    const [row] = await database.sql<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and clock_timestamp() - query_start > ${`${longerThanMs} ms`}::interval`;
    return row!.waiting >= count;
  });
}

const create = (name: string, headers: Record<string, string> = {}): Promise<Answer> =>
  program.call("KeyService/CreateKey", { name, permission: "KEY_PERMISSION_READ" }, { headers });

async function storedNames(): Promise<string[]> {
  const rows = await database.sql<{ name: string }[]>`select name from keys where name <> 'first key' order by name`;
  return rows.map((row) => row.name);
}

it("a call whose deadline passes gets deadline_exceeded and stores nothing", async () => {
  const lock = await lockKeys("access exclusive");
  for (const answer of await Promise.all([
    program.call("KeyService/ListKeys", {}, { headers: { "connect-timeout-ms": "100" } }),
    create("late", { "connect-timeout-ms": "100" }),
    create("at once", { "connect-timeout-ms": "0" }),
  ])) {
    assert.equal(answer.status, 504, JSON.stringify(answer.body));
    assert.equal(answer.body.code, "deadline_exceeded");
  }
  await lock.release();
  assert.equal((await create("in time", { "connect-timeout-ms": "60000" })).status, 200);
  assert.deepEqual(await storedNames(), ["in time"]);
});

it("a write that has started is finished after the deadline, and the caller gets its real result", async () => {
  const lock = await lockKeys("share");
  const deadlineMs = 200;
  const answer = create("begun", { "connect-timeout-ms": String(deadlineMs) });
  await insertsWaiting(1, deadlineMs * 2);
  await lock.release();
  assert.equal((await answer).status, 200);
  assert.deepEqual(await storedNames(), ["begun"]);
});

it("after SIGTERM the program accepts no new calls, finishes those in progress, and exits with 0", async () => {
  const lock = await lockKeys("share");
  const inProgress = ["a", "b", "c", "d"].map((name) => create(name));
  await insertsWaiting(4);
  const exit = program.stop();
  await until("new calls to be rejected", () =>
    program.call("KeyService/ListKeys").then(
      () => false,
      () => true,
    ),
  );
  await lock.release();
  for (const answer of await Promise.all(inProgress)) {
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("connection"), "close");
  }
  assert.equal(await exit, 0);
  assert.deepEqual(await storedNames(), ["a", "b", "c", "d"]);
});

it("after SIGTERM under load, the stored rows are exactly the acknowledged ones", async () => {
  // The previous test stopped the program.
  program = await startProgram({ databaseUrl: database.url, dataDir: program.dataDir });
  const acknowledged: string[] = [];
  const wrong: unknown[] = [];
  let stopping = false;
  const load = Array.from({ length: 8 }, async (_, client) => {
    for (let n = 0; ; n++) {
      const name = `${client}.${n}`;
      const answer = await create(name).catch((error: Error) => error);
      if (answer instanceof Error) {
        if (!stopping) wrong.push(answer);
        return;
      }
      if (answer.status !== 200) wrong.push(answer.body);
      acknowledged.push(name);
    }
  });
  await until("load", () => acknowledged.length > 200);
  stopping = true;
  assert.equal(await program.stop(), 0);
  await Promise.all(load);
  assert.deepEqual(wrong, []);
  assert.deepEqual(await storedNames(), acknowledged.sort());
  assert.match(program.output(), /"msg":"stopped"/);
});
