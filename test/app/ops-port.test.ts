/** The operations port on real nodes: with any roles, while the database hangs, and during a shutdown. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { withoutReceipt } from "../../src/postgres/brief-locks.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { startDatabaseProxy } from "../harness/database-proxy.ts";
import { freePort } from "../harness/free-port.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

type Details = { ready: boolean; version: string; roles: string[]; ports: object; checks: Record<string, string> };

async function readyz(url: string): Promise<{ status: number; body: Details }> {
  const answer = await fetch(`${url}/readyz`);
  return { status: answer.status, body: (await answer.json()) as Details };
}

const metricsOf = async ({ opsUrl }: RunningProgram) => await (await fetch(`${opsUrl}/metrics`)).text();

test("a node without the API serves readiness and metrics, and prints where", async (t) => {
  const program = await startProgram({
    databaseUrl: database.url,
    env: { POSTHORN_ROLES: "delivery,housekeeping", POSTHORN_LOG_LEVEL: "warn" },
  });
  t.after(program.remove);
  const { status, body } = await readyz(program.opsUrl);
  assert.equal(status, 200);
  assert.deepEqual([body.ready, body.roles], [true, ["delivery", "housekeeping"]]);
  assert.deepEqual(body.checks, { program: "ok", database: "ok" });
  assert.deepEqual(body.ports, { pid: program.pid, ops: program.ports.ops });
  const metrics = await metricsOf(program);
  for (const line of [
    "posthorn_database_up 1",
    "posthorn_queue_oldest_due_seconds 0",
    'posthorn_role_nodes{role="delivery"} 1',
    'posthorn_role_nodes{role="inbound"} 0',
    `posthorn_build_info{version="${body.version}"} 1`,
  ])
    assert.ok(metrics.split("\n").includes(line), line);
  const total = Number(/^posthorn_data_directory_size_bytes (\S+)$/m.exec(metrics)![1]);
  const free = Number(/^posthorn_data_directory_free_bytes (\S+)$/m.exec(metrics)![1]);
  assert.ok(free > 0 && free <= total);
  await until("the welcome", async () => program.output().includes(`${program.opsUrl}/metrics`));
  assert.ok(program.output().includes(`${program.opsUrl}/readyz`));
  // This node started first and has the key, although it does not serve the API.
  await until("the key's file", async () => program.output().includes(join(program.dataDir, "first-key")));
});

test("a node uses a free port if the default one is taken, and logs it", async (t) => {
  const holder = createServer();
  t.after(() => holder.close());
  await new Promise<void>((resolve, reject) => {
    holder.once("listening", resolve);
    // Another program on this machine already uses the port, which serves the test as well.
    holder.once("error", (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve() : reject(error)));
    holder.listen(8826, "127.0.0.1");
  });
  // As if unset: an empty value is the default.
  const program = await startProgram({ databaseUrl: database.url, env: { POSTHORN_OPS: "" } });
  t.after(program.remove);
  assert.notEqual(program.ports.ops, 8826);
  assert.equal((await readyz(program.opsUrl)).body.ready, true);
  assert.match(
    program.output(),
    new RegExp(`"level":"warn"[^\\n]*port 8826 is taken[^\\n]*127.0.0.1:${program.ports.ops}`),
  );
});

test("a chosen port that is taken is an error that names the port", async (t) => {
  const one = await startProgram({ databaseUrl: database.url });
  t.after(one.remove);
  const env = { POSTHORN_OPS: `127.0.0.1:${one.ports.ops}` };
  await assert.rejects(
    startProgram({ databaseUrl: database.url, env }),
    new RegExp(`ended with 1[\\s\\S]*address already in use 127.0.0.1:${one.ports.ops}`),
  );
});

test("while the database hangs, every probe is answered and the process's own metrics are served", async (t) => {
  const proxy = await startDatabaseProxy(database.url);
  const program = await startProgram({ databaseUrl: proxy.url, env: { POSTHORN_ROLES: "api" } });
  t.after(async () => {
    proxy.thaw();
    await program.remove();
    await proxy.close();
  });
  await until("a ready node", async () => (await readyz(program.opsUrl)).body.ready);
  proxy.freeze();
  const answers = await Promise.all(Array.from({ length: 50 }, () => readyz(program.opsUrl)));
  for (const { status, body } of answers) {
    assert.equal(status, 503);
    assert.equal(body.checks.program, "ok");
    assert.match(body.checks.database!, /^(no answer within 2 s|time-out|unreachable)$/);
  }
  // The public port reveals nothing about the database.
  assert.deepEqual(await readyz(program.url), { status: 503, body: { ready: false } });
  const metrics = await metricsOf(program);
  assert.match(metrics, /^posthorn_database_up 0$/m);
  assert.match(metrics, /^posthorn_process_resident_memory_bytes \d+$/m);
  assert.doesNotMatch(
    metrics,
    /^posthorn_(queue_recipients|queue_oldest_due_seconds|role_nodes)[ {]/m,
    "no stale values",
  );
  assert.match(metrics, /^posthorn_database_connections\{state="waiting"\} 0$/m);
  proxy.thaw();
  await until("a ready node again", async () => (await readyz(program.opsUrl)).body.ready);
  assert.match(await metricsOf(program), /^posthorn_queue_oldest_due_seconds /m);
});

test("a node with a busy pool stays ready, and its database counts as up", async (t) => {
  const env = { POSTHORN_DATABASE_POOL: "2", POSTHORN_API_KEY: "p".repeat(32), POSTHORN_ROLES: "api" };
  const program = await startProgram({ databaseUrl: database.url, env });
  t.after(program.remove);
  const { calls } = await database.sql.begin(async (tx) => {
    await tx`lock table emails in access exclusive mode`;
    const calls = Array.from({ length: 6 }, () => program.call("EmailService/ListEmails").catch(() => {}));
    const seen = await until("statements that wait for a connection", async () => {
      const metrics = await metricsOf(program);
      return /^posthorn_database_connections\{state="waiting"\} [1-9]/m.test(metrics) ? metrics : undefined;
    });
    assert.match(seen, /^posthorn_database_up 1$/m);
    assert.equal((await readyz(program.opsUrl)).body.checks.database, "ok");
    assert.deepEqual(await readyz(program.url), { status: 200, body: { ready: true } });
    return { calls };
  });
  await Promise.all(calls);
});

test("a node that waits for a migration reports that, and its database counts as up", async (t) => {
  const empty = await createTestDatabase({ migrated: false });
  let running: RunningProgram | undefined;
  t.after(async () => {
    await running?.remove();
    await empty.drop();
  });
  const port = await freePort();
  const opsUrl = `http://127.0.0.1:${port}`;
  const { program } = await empty.sql.begin(async (tx) => {
    // The lock of src/postgres/migrate.ts, as held by another node that migrates.
    await tx`select pg_advisory_xact_lock(${0x706f7374})`;
    const env = { POSTHORN_OPS: `127.0.0.1:${port}`, POSTHORN_ROLES: "api" };
    const program = startProgram({ databaseUrl: empty.url, env });
    // On a busy machine the database's answer to a probe may be late.
    const { status } = await until("the migration, with a database that answers", async () => {
      const answer = await readyz(opsUrl);
      const { program, database } = answer.body.checks;
      return program === "migrating" && database === "ok" ? answer : undefined;
    });
    assert.equal(status, 503);
    const up = /^posthorn_database_up 1$/m;
    await until("the metric", async () => up.test(await (await fetch(`${opsUrl}/metrics`)).text()));
    return { program };
  }, withoutReceipt);
  running = await program;
  assert.equal((await readyz(opsUrl)).status, 200);
});

test("from the start of a shutdown both ports report not ready, and the operations port answers until the end", async (t) => {
  const env = { POSTHORN_DRAIN_MS: "60000", POSTHORN_API_KEY: "k".repeat(32) };
  const program = await startProgram({ databaseUrl: database.url, env });
  t.after(program.remove);
  // A call whose body is incomplete keeps the node draining.
  const upload = connect(program.ports.http, "127.0.0.1");
  const key = `Authorization: Bearer ${program.key}\r\nConnect-Protocol-Version: 1`;
  upload.write(
    `POST /v1.KeyService/ListKeys HTTP/1.1\r\nHost: a\r\n${key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{`,
  );
  // A probe that the node has started to read when the shutdown begins.
  const probe = connect(program.ports.http, "127.0.0.1");
  probe.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(probe, "data");
  probe.write("GET /readyz HTTP/1.1\r\nHost: a\r\n");
  assert.equal((await readyz(program.opsUrl)).status, 200);
  const stopped = program.stop();
  const seen = await until("the operations port to report it", async () => {
    const answer = await readyz(program.opsUrl);
    return answer.status === 503 ? answer : undefined;
  });
  assert.deepEqual(seen.body.checks, { program: "stopping", database: "ok" });
  assert.equal((await fetch(`${program.opsUrl}/metrics`)).status, 200);
  probe.write("\r\n");
  assert.match(String((await once(probe, "data"))[0]), /^HTTP\/1\.1 503 .*\{"ready":false\}/s);
  upload.write("}");
  assert.match(String((await once(upload, "data"))[0]), /^HTTP\/1\.1 200 /);
  assert.equal(await stopped, 0);
});
