import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createMetrics } from "../ops/metrics.ts";
import { makeSelfSigned } from "../smtp/self-signed.ts";
import { openDb, type Sql } from "../store/db.ts";
import { makeUuid } from "../store/ids.ts";
import { readConfig } from "./config.ts";
import { createMeasure } from "./measure.ts";
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

test("while the queue takes long to count, its last figures stay, ages grow, and one statement counts", async (t) => {
  const sql = openDb({ url: database.url, pool: 4, log: silentLog(), name: "measured" });
  t.after(() => sql.end());
  await sql`insert into recipients (workspace_id, email_id, position, kind, address, destination, due_at)
    values (gen_random_uuid(), ${makeUuid(Date.now())}, 0, 'to', 'a@b.test', 'b.test', now() - interval '100 seconds')`;
  const first = measuring(sql, {}, 60_000);
  const before = (await first.scrape())("posthorn_queue_oldest_due_seconds")!;
  assert.ok(before >= 100, String(before));

  // The first scrape counts; the next ones find the table locked.
  const slow = measuring(sql, {}, 0);
  await until("the first figures", async () => (await slow.scrape())('posthorn_queue_recipients{state="due"}') === 1);
  const counting = async () => {
    const [row] = await database.sql<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where application_name = 'measured' and wait_event_type = 'Lock' and datname = current_database()`;
    return row!.count;
  };
  await database.sql.begin(async (tx) => {
    await tx`lock table recipients in access exclusive mode`;
    const age = async () => (await slow.scrape())("posthorn_queue_oldest_due_seconds")!;
    const held = await age();
    await until("a statement that waits", async () => (await slow.scrape()) && (await counting()) === 1);
    for (let i = 0; i < 3; i++) await slow.scrape();
    assert.ok((await counting()) <= 1);
    await until("a greater age", async () => (await age()) > held);
    const get = await slow.scrape();
    assert.equal(get("posthorn_database_up"), 1);
    assert.equal(get('posthorn_queue_recipients{state="due"}'), 1);
  });
});

test("a pool whose connections are all busy is not a database that is away", async (t) => {
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

test("a node that migrates has a database and is not ready", async () => {
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
