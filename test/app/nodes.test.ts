/** Several nodes on one database: migration, nodes that must not start, and changes that take effect on every node at once. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { readMigrations } from "../../src/postgres/migrate.ts";
import { createSecrets } from "../../src/postgres/sealing.ts";
import { checkSecret } from "../../src/postgres/secret-state.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { newDataDir, type RunningProgram, runCommand, startProgram, testSecret } from "../harness/program.ts";
import { createKey } from "../harness/workspaces.ts";

const toRemove: { remove(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of toRemove.splice(0).reverse()) await thing.remove();
});

async function newDatabase(options?: { migrated: boolean }): Promise<TestDatabase> {
  const database = await createTestDatabase(options);
  toRemove.push({ remove: database.drop });
  return database;
}

describe("three nodes that start together on an empty database", () => {
  let database: TestDatabase;
  let nodes: RunningProgram[];
  let key: string;
  before(async () => {
    database = await createTestDatabase({ migrated: false });
    // The third node has its own rate limit.
    const strict = { POSTHORN_RATE_PER_SECOND: "1", POSTHORN_RATE_BURST: "5" };
    nodes = await Promise.all([{}, {}, strict].map((env) => startProgram({ databaseUrl: database.url, env })));
  });
  after(async () => {
    for (const node of nodes ?? []) await node.remove();
    await database?.drop();
  });

  it("all start, with one schema, one workspace for customers, one for system mail, and one key", async () => {
    const [counts] = await database.sql<{ migrations: number; workspaces: string[]; keys: number; nodes: number }[]>`
    select (select count(*)::int from schema_migrations) + (select count(*)::int from schema_versions) as migrations, (select array_agg(kind order by kind) from workspaces) as workspaces,
      (select count(*)::int from keys) as keys, (select count(distinct pid)::int from workers) as nodes`;
    const migrations = (await readMigrations()).length;
    assert.deepEqual({ ...counts }, { migrations, workspaces: ["customer", "system"], keys: 1, nodes: 3 });
    // Each file is applied by exactly one node, but not all by the same one.
    const migrated = nodes.flatMap((node) => node.output().match(/schema migrated/g) ?? []);
    assert.equal(migrated.length, migrations);
    const [holder, ...others] = nodes.filter((node) => existsSync(join(node.dataDir, "first-key")));
    assert.ok(holder && others.length === 0, "exactly one node has the first key");
    key = holder.key;
    for (const node of nodes) assert.equal((await node.call("KeyService/ListKeys", {}, { key })).status, 200);
  });

  it("a key revoked on one node is rejected by another from the next call on", async () => {
    const [first, second] = nodes as [RunningProgram, RunningProgram];
    // Concurrent calls share key lookups. A revoked key must not be accepted through a lookup of another call.
    let calling = true;
    const others = Array.from({ length: 4 }, async () => {
      while (calling) assert.equal((await second.call("KeyService/ListKeys", {}, { key })).status, 200);
    });
    for (let round = 0; round < 25; round++) {
      const { id, secret } = await createKey(first, { key });
      assert.equal((await second.call("KeyService/ListKeys", {}, { key: secret })).status, 200);
      const revoked = await first.call("KeyService/RevokeKey", { id }, { key });
      assert.equal(revoked.status, 200);
      assert.equal((await second.call("KeyService/ListKeys", {}, { key: secret })).status, 401, `round ${round}`);
    }
    calling = false;
    await Promise.all(others);
  });

  it("calls over the rate limit are rejected with the time to retry", async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => nodes[2]!.call("KeyService/ListKeys", {}, { key })),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    assert.ok(refused.length >= 5, `${refused.length} of 12 refused`);
    for (const { status, headers, body } of refused) {
      assert.equal(status, 429);
      assert.equal(body.code, "resource_exhausted");
      const [detail] = body.details as { type: string; debug: { retryDelay: string } }[];
      assert.equal(detail!.type, "google.rpc.RetryInfo");
      assert.match(detail!.debug.retryDelay, /^\d+(\.\d+)?s$/);
      assert.match(headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    }
  });
});

it("a schema too new for the program is refused, with the fix", async () => {
  const database = await newDatabase();
  await database.sql`insert into schema_migrations (version, name, checksum) values (9999, '9999_future.sql', 'x')`;
  const { code, stdout, stderr } = await runStart(database);
  assert.equal(code, 1);
  assert.equal(stdout, "");
  assert.match(
    stderr,
    /schema version 9999 \(9999_future\.sql\).*Upgrade this node to the release.*or restore the backup/s,
  );
  assert.doesNotMatch(stderr, /\n\s+at /, "no stack trace");
});

it("the program starts on a newer schema that still supports it", async () => {
  const database = await newDatabase();
  const own = (await readMigrations()).length;
  await database.sql`insert into schema_versions (version, name, checksum, serves) values (${own + 1}, 'future.sql', 'x', ${own})`;
  await database.sql`insert into backfills (name, since, finished_at) values ('of the future', ${own + 1}, now())`;
  const node = await startProgram({ databaseUrl: database.url });
  toRemove.push(node);
  assert.match(node.output(), /the schema is newer than this program and serves it/);
  const migrated = await runCommand(["migrate"], { dataDir: node.dataDir, databaseUrl: database.url });
  assert.equal(migrated.code, 0, migrated.stderr);
  assert.match(
    migrated.stdout,
    new RegExp(`schema is at version ${own + 1} \\(future\\.sql\\) and serves programs of version ${own} and newer`),
  );
  assert.match(
    migrated.stdout,
    /Backfill of the future is outstanding: 0 rows done; waiting until the nodes with an older program/,
  );
});

it("a command on a newer schema that supports it reopens finished backfills, also for the rows it writes", async () => {
  const database = await newDatabase();
  const { sql } = database;
  const own = (await readMigrations()).length;
  await sql`insert into schema_versions (version, name, checksum, serves) values (${own + 1}, 'future.sql', 'x', ${own})`;
  await sql`insert into backfills (name, since, finished_at) values ('of the future', ${own + 1}, now())`;
  // Simulates a newer node that finishes the backfill as soon as the command has written.
  await sql.unsafe(`create function finish() returns trigger language plpgsql as $$ begin
      update backfills set finished_at = now(), rows = rows + 1; return null; end $$;
    create trigger finishes after insert on workspaces execute function finish()`);
  const dataDir = await newDataDir();
  toRemove.push({ remove: () => rm(dataDir, { recursive: true, force: true }) });
  const { code, stderr } = await runCommand(["workspaces", "create", "later"], { dataDir, databaseUrl: database.url });
  assert.equal(code, 0, stderr);
  assert.deepEqual(
    [...(await sql`select rows::int as runs, finished_at as finished from backfills`)],
    [{ runs: 1, finished: null }],
  );
});

it("a changed migration is refused", async () => {
  const database = await newDatabase();
  await database.sql`update schema_migrations set checksum = 'x' where version = 1`;
  const { code, stderr } = await runStart(database);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /differs from the one in this program.*create a new database and put its address into DATABASE_URL/s,
  );
});

it("another secret than the database's is refused", async () => {
  const database = await newDatabase();
  await checkSecret(database.sql, createSecrets(testSecret));
  const { code, stderr } = await runStart(database, { POSTHORN_SECRET: "another secret, long enough to be one ....." });
  assert.equal(code, 1);
  assert.match(stderr, /POSTHORN_SECRET is not the one this database was created with/);
  assert.doesNotMatch(stderr, /another secret/);
});

async function runStart(database: TestDatabase, env: Record<string, string> = {}) {
  const dataDir = await newDataDir();
  toRemove.push({ remove: () => rm(dataDir, { recursive: true, force: true }) });
  return await runCommand(["start"], { dataDir, databaseUrl: database.url, env });
}
