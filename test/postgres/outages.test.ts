/** Each reason why a database cannot serve, with a real PostgreSQL: the caller's sentence, the log, /readyz, the metric, and its end. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../harness/database-proxy.ts";
import { holdLock } from "../harness/held-lock.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
let proxy: DatabaseProxy;
let program: RunningProgram;
let url: string;
/** A role without superuser's rights, because connection limits do not apply to a superuser. */
const role = `posthorn_test_${randomBytes(4).toString("hex")}`;

before(async () => {
  database = await createTestDatabase();
  await database.sql.unsafe(
    `create role ${role} login password 'right'; grant ${new URL(database.url).username} to ${role}`,
  );
  const theirs = new URL(database.url);
  theirs.username = role;
  theirs.password = "right";
  proxy = await startDatabaseProxy(String(theirs));
  url = proxy.url;
  program = await startProgram({ databaseUrl: url, env: { POSTHORN_API_KEY: "k".repeat(32) } });
});
after(async () => {
  await program?.remove();
  await proxy?.close();
  await database?.sql.unsafe(`drop owned by ${role}; drop role ${role}`);
  await database?.drop();
});

const checkOf = async () =>
  ((await (await fetch(`${program.opsUrl}/readyz`)).json()) as { checks: { database: string } }).checks.database;
const problemOf = async (state: string) => {
  const text = await (await fetch(`${program.opsUrl}/metrics`)).text();
  return new RegExp(`^posthorn_database_problem\\{reason="${state}"\\} (\\d)$`, "m").exec(text)?.[1];
};
const createKey = () => program.call("KeyService/CreateKey", { name: "a key", permission: "KEY_PERMISSION_SEND" });
/** Log lines about this reason, as [level, message]. */
const linesOf = (state: string) =>
  program
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { level: string; msg: string; database?: string })
    .filter((line) => line.database === state);
const endSessions = () =>
  database.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${role} and datname = current_database()`;

type Reason = {
  state: string;
  reason: string;
  sentence: RegExp;
  fix: RegExp;
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
};

/** Locks the tables that a new key and the write probe need. The program's lock_timeout is 10 s, the probe's is 2 s. */
const lockTables = "set idle_in_transaction_session_timeout = 0; lock table keys, idempotency in share mode";

let unlock = async () => {};
const reasons: Reason[] = [
  {
    state: "read-only",
    reason: "DATABASE_READ_ONLY",
    sentence: /^The database is read-only at the moment, so nothing was stored\./,
    fix: /default_transaction_read_only/,
    async begin() {
      await database.sql.unsafe(`alter role ${role} set default_transaction_read_only = on`);
      await endSessions();
    },
    async end() {
      await database.sql.unsafe(`alter role ${role} reset default_transaction_read_only`);
      await endSessions();
    },
  },
  {
    state: "too many connections",
    reason: "DATABASE_BUSY",
    sentence: /^The database has no free connection, so nothing was stored\./,
    fix: /max_connections/,
    async begin() {
      await database.sql.unsafe(`alter role ${role} connection limit 0`);
      await endSessions();
    },
    end: () => database.sql.unsafe(`alter role ${role} connection limit -1`).then(),
  },
  {
    state: "login rejected",
    reason: "DATABASE_LOGIN",
    sentence: /^The database rejects the login of this service, so nothing was stored\./,
    fix: /password in DATABASE_URL/,
    async begin() {
      await database.sql.unsafe(`alter role ${role} password 'changed'`);
      await endSessions();
    },
    end: () => database.sql.unsafe(`alter role ${role} password 'right'`).then(),
  },
  {
    state: "time-out",
    reason: "DATABASE_TIMEOUT",
    sentence: /^The database took too long, so nothing was stored\./,
    fix: /pg_stat_activity/,
    async begin() {
      unlock = (await holdLock(database.url, lockTables)).release;
    },
    end: () => unlock(),
  },
  {
    state: "unreachable",
    reason: "DATABASE_UNREACHABLE",
    sentence: /^The database cannot be reached, so nothing was stored\./,
    fix: /Check that PostgreSQL runs/,
    begin: async () => proxy.goAway(),
    end: async () => proxy.comeBack(),
  },
];

for (const { state, reason, sentence, fix, begin, end } of reasons) {
  test(`${state}: the caller, the log, /readyz, the metrics and doctor say so, and all of them notice the end`, async () => {
    assert.equal(await until("a ready node", async () => (await checkOf()) === "ok"), true);
    await begin();
    const answer = await until("an answer with this reason", async () => {
      const { status, body } = await createKey();
      // A session that was being opened while the others were ended.
      if (status === 200 && !["time-out", "unreachable"].includes(state)) return void (await endSessions());
      assert.equal(status, 503, JSON.stringify(body));
      const info = (body.details as { debug?: { reason?: string } }[]).find(({ debug }) => debug?.reason !== undefined);
      return info?.debug?.reason === reason ? body : undefined;
    });
    assert.equal(answer.code, "unavailable");
    assert.match(answer.message as string, sentence);
    assert.doesNotMatch(JSON.stringify(answer), /127\.0\.0\.1|posthorn_test|right/);
    await until(`/readyz with ${state}`, async () => (await checkOf()) === state);
    assert.equal(await problemOf(state), "1");
    const doctor = await runDoctor();
    assert.match(doctor.found, fix);
    await end();
    await until("a ready node again", async () => (await checkOf()) === "ok");
    assert.equal(await problemOf(state), "0");
    assert.equal((await createKey()).status, 200);
    const lines = linesOf(state);
    assert.deepEqual(
      [...new Set(lines.map(({ level }) => level))],
      ["error", "info"],
      "lines of the start, then one of the end",
    );
    assert.match(lines[0]!.msg, fix);
    assert.match(lines.at(-1)!.msg, /works again/);
    assert.ok(lines.length < 10, "few lines, however many calls failed");
  });
}

async function runDoctor(): Promise<{ found: string }> {
  const dataDir = await newDataDir();
  const { stdout } = await runCommand(["doctor", "--json", "--probe", "localhost"], { dataDir, databaseUrl: url });
  const findings = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { check: string; result: string; found: string; fix?: string });
  const failed = findings.find(({ check, result }) => check === "database" && result === "fail");
  assert.ok(failed, stdout);
  const skipped = findings.find(({ check }) => check === "skipped");
  assert.match(skipped?.found ?? stdout, /secret, DKIM, DMARC, .*wordings$/, "no other check waits for the database");
  return { found: `${failed.found} ${failed.fix}` };
}
