import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, test } from "node:test";
import pg from "pg";
import { pino } from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { createHealth, type DatabaseHealth } from "./health.ts";
import { openDb } from "./pool.ts";

let database: TestDatabase;
let health: DatabaseHealth;
let lines: { level: number; database: string; failures: number; msg: string }[];
let poolBusy: boolean;
let nowMs: number;
/** Fails the probe while it is set. */
let refused: Error | undefined;

before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());
beforeEach(() => {
  lines = [];
  poolBusy = false;
  nowMs = 0;
  refused = undefined;
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  health = createHealth({ log, connect, isPoolBusy: () => poolBusy, nowMs: () => nowMs });
});
afterEach(() => health.close());

async function connect(): Promise<pg.Client> {
  if (refused) throw refused;
  const { host, port, user, password, database: name } = database.sql.pool.options;
  const client = new pg.Client({ host, port, user, password, database: name });
  await client.connect();
  return client;
}

const failure = (code: string) => Object.assign(new Error(`failed with ${code}`), { code });
const works = () => until("the end of the problem", () => lines.at(-1)?.msg.includes("works again"));

test("a failed write is a problem at once, and the probe ends it", async () => {
  health.note(failure("53100"));
  assert.equal(health.problem()?.state, "disk full");
  await works();
  assert.equal(health.problem(), undefined);
  assert.deepEqual(
    lines.map(({ level, database: state }) => [level, state]),
    [
      [50, "disk full"],
      [30, "disk full"],
    ],
  );
});

test("a lost connection or a slow statement is a problem only if the probe fails too", async () => {
  health.note(failure("57014"));
  health.note(failure("ECONNRESET"));
  assert.equal(health.problem(), undefined);
  await works();
  assert.deepEqual(
    [...health.failures()],
    [
      ["time-out", 1],
      ["unreachable", 1],
    ],
  );
  refused = failure("ECONNREFUSED");
  health.note(failure("ECONNRESET"));
  await until("a confirmed problem", () => health.problem()?.state === "unreachable");
  refused = undefined;
  await until("the end of the problem", () => health.problem() === undefined);
});

test("many failures make one line, a long outage one line each half minute, and each failure is counted", async () => {
  refused = failure("28P01");
  for (let n = 0; n < 1000; n++) health.note(failure("28P01"));
  assert.equal(lines.length, 1);
  nowMs += 31_000;
  health.note(failure("28P01"));
  assert.equal(lines.length, 2);
  assert.ok(lines[1]!.failures > 1000);
  assert.equal(health.failures().get("login rejected"), 1001);
  refused = undefined;
  await works();
  assert.deepEqual(lines.length, 3);
});

test("a pool without a free connection is a problem while statements wait for one", async () => {
  poolBusy = true;
  health.note(failure("POOL_EXHAUSTED"));
  await until("a confirmed problem", () => health.problem()?.state === "too many connections");
  poolBusy = false;
  await works();
});

test("errors of statements are no problem of the database", () => {
  for (const code of ["23505", "42601", "40001"]) health.note(failure(code));
  health.note(new Error("a bug"));
  assert.deepEqual([health.problem(), lines.length, health.failures().size], [undefined, 0, 0]);
});

test("the probe leaves nothing behind but one row that expires", async () => {
  const tables = () => database.sql`select relname from pg_class where relname like 'posthorn_probe%'`;
  await health.testWrite();
  await health.testWrite();
  assert.deepEqual(await tables(), []);
  assert.equal((await database.sql`select 1 from idempotency where key = 'write probe'`).length, 1);
});

test("the probe works for a role that may not create tables", async () => {
  const role = "posthorn_no_tables";
  await database.sql.unsafe(`drop role if exists ${role}; create role ${role} login password 'x';
    grant select, insert, update on idempotency to ${role}; revoke create on schema public from public`);
  const url = new URL(database.url);
  url.username = role;
  url.password = "x";
  const theirs = openDb({ url: String(url), pool: 1, log: pino({ level: "silent" }) });
  await theirs.health.testWrite();
  await theirs.end();
  await database.sql.unsafe(`drop owned by ${role}; drop role ${role}`);
});
