import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createMetrics } from "../ops/metrics.ts";
import { makeUuid } from "../postgres/ids.ts";
import { openDb, type Sql } from "../postgres/pool.ts";
import { makeSelfSigned } from "../smtp/server/certificate.ts";
import { readConfig } from "./config.ts";
import { createMeasure, createReading } from "./measure.ts";
import { createReadiness, type NodeState } from "./readiness.ts";

let database: TestDatabase;
let dataDir: string;
before(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), "posthorn-measure-"));
});
after(async () => {
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
});

function measuring(sql: Sql | undefined, env: Record<string, string> = {}, withinMs?: number) {
  const node: NodeState = { phase: "running", version: "1", roles: [], ports: { pid: 1 }, sql };
  const readiness = createReadiness(node);
  const config = readConfig({ POSTHORN_DATA_DIR: dataDir, ...env });
  const measure = createMeasure({ config, log: silentLog(), metrics: createMetrics(), node, readiness, withinMs });
  const scrape = async () => {
    const { text } = await measure.metrics();
    return (name: string) => {
      const value = text
        .split("\n")
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1);
      return value === undefined ? undefined : Number(value);
    };
  };
  return { node, readiness, scrape };
}

test("while counting the queue is slow, the last values are served, ages grow, and only one statement runs", async (t) => {
  const sql = openDb({ url: database.url, pool: 4, log: silentLog(), name: "measured" });
  t.after(() => sql.end());
  await sql`insert into recipients (workspace_id, email_id, position, kind, address, destination, due_at)
    values (gen_random_uuid(), ${makeUuid(Date.now())}, 0, 'to', 'a@b.test', 'b.test', service_time() - interval '100 seconds')`;
  const first = measuring(sql, {}, 60_000);
  const before = (await first.scrape())("posthorn_queue_oldest_due_seconds")!;
  assert.ok(before >= 100, String(before));

  // The first scrape counts the queue; the following ones find the table locked.
  const slow = measuring(sql, {}, 0);
  await until("the first values", async () => (await slow.scrape())('posthorn_queue_recipients{state="due"}') === 1);
  const counting = async () => {
    const [row] = await database.sql<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where application_name = 'measured' and wait_event_type = 'Lock' and datname = current_database()`;
    return row!.count;
  };
  await database.sql.begin(async (tx) => {
    await tx`lock table recipients in access exclusive mode`;
    const age = async () => (await slow.scrape())("posthorn_queue_oldest_due_seconds")!;
    const earlier = await age();
    await until("a statement that waits", async () => (await slow.scrape()) && (await counting()) === 1);
    for (let i = 0; i < 3; i++) await slow.scrape();
    assert.ok((await counting()) <= 1);
    await until("a greater age", async () => (await age()) > earlier);
    const get = await slow.scrape();
    assert.equal(get("posthorn_database_up"), 1);
    assert.equal(get('posthorn_queue_recipients{state="due"}'), 1);
  });
});

test("the database counts as up while every connection of the pool is busy", async (t) => {
  const sql = openDb({ url: database.url, pool: 1, log: silentLog() });
  t.after(() => sql.end());
  const { readiness, scrape } = measuring(sql, {}, 0);
  await sql.begin(async () => {
    const waiting = sql`select 1`.then(() => {});
    assert.equal(await readiness.database(), "ok");
    assert.equal((await readiness.details()).ready, true);
    const get = await scrape();
    assert.equal(get("posthorn_database_up"), 1);
    assert.ok(get('posthorn_database_connections{state="waiting"}')! >= 1);
    void waiting;
  });
});

test("a migrating node reports its database as up and itself as not ready", async () => {
  const { node, readiness, scrape } = measuring(database.sql);
  node.phase = "migrating";
  const { ready, checks } = await readiness.details();
  assert.deepEqual({ ready, checks }, { ready: false, checks: { program: "migrating", database: "ok" } });
  assert.equal((await scrape())("posthorn_database_up"), 1);
});

test("the certificate's expiry is 0 when the key belongs to another certificate", async () => {
  const [one, other] = ["one.test", "other.test"].map((host) => makeSelfSigned(host, Date.now()));
  const [cert, key] = ["cert.pem", "key.pem"].map((name) => join(dataDir, name)) as [string, string];
  await writeFile(cert, one!.cert);
  await writeFile(key, one!.key);
  const { scrape } = measuring(undefined, { POSTHORN_TLS_CERT: cert, POSTHORN_TLS_KEY: key });
  const name = "posthorn_tls_certificate_expiry_timestamp_seconds";
  assert.ok((await scrape())(name)! > Date.now() / 1000);
  await writeFile(key, other!.key);
  assert.equal((await scrape())(name), 0);
  await rm(key);
  assert.equal((await scrape())(name), 0);
});

/** A reading whose reads the test answers. */
function controlledReading(withinMs: number) {
  const reads: PromiseWithResolvers<number>[] = [];
  const problems: string[] = [];
  const clock = { nowMs: 0 };
  const reading = createReading<number>({
    withinMs,
    keepMs: 600_000,
    nowMs: () => clock.nowMs,
    read() {
      const answer = Promise.withResolvers<number>();
      reads.push(answer);
      return answer.promise;
    },
    onProblem: (error) => problems.push(error.message),
  });
  return { reads, problems, clock, reading };
}

test("a read in time returns its value", async () => {
  const { reads, reading } = controlledReading(60_000);
  const taken = reading.take();
  reads[0]!.resolve(7);
  assert.deepEqual(await taken, { value: 7, ageSeconds: 0 });
});

test("while a read is late, the last value is returned with its age, and no second read starts", async () => {
  const { reads, clock, reading } = controlledReading(0);
  assert.equal(await reading.take(), undefined);
  assert.equal(await reading.take(), undefined);
  assert.equal(reads.length, 1);
  reads[0]!.resolve(7);
  await reads[0]!.promise;
  clock.nowMs = 30_000;
  assert.deepEqual(await reading.take(), { value: 7, ageSeconds: 30 });
  assert.deepEqual(await reading.take(), { value: 7, ageSeconds: 30 });
  assert.equal(reads.length, 2);
  // The age counts from the start of the read.
  clock.nowMs = 40_000;
  reads[1]!.resolve(9);
  await reads[1]!.promise;
  assert.deepEqual(await reading.take(), { value: 9, ageSeconds: 10 });
});

test("after a failed read, the last value is returned until it is too old", async () => {
  const { reads, problems, clock, reading } = controlledReading(60_000);
  const first = reading.take();
  reads[0]!.resolve(7);
  await first;
  for (const [nowMs, expected] of [
    [600_000, { value: 7, ageSeconds: 600 }],
    [600_001, undefined],
  ] as const) {
    clock.nowMs = nowMs;
    const taken = reading.take();
    reads.at(-1)!.reject(new Error("no"));
    assert.deepEqual(await taken, expected);
  }
  assert.deepEqual(problems, ["no", "no"]);
});

test("a forgotten value is not returned again", async () => {
  const { reads, reading } = controlledReading(0);
  void reading.take();
  reads[0]!.resolve(7);
  await reads[0]!.promise;
  assert.equal((await reading.take())?.value, 7);
  reading.forget();
  assert.equal(await reading.take(), undefined);
});
