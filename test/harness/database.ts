/** One PostgreSQL per test run, a database cloned from a migrated template per test file. Real settings; a
 * whole run may lie in memory (scripts/roomy-place.ts), where fsync costs nothing. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { silentLog } from "../../src/ops/log.ts";
import { openDb, type Sql } from "../../src/store/db.ts";
import { startEmbedded } from "../../src/store/embedded.ts";
import { migrate } from "../../src/store/migrate.ts";

/** Set by scripts/test.ts for all files of a run; a file run alone starts its own server. */
const variable = "TEST_DATABASE_URL";
export const templateName = "posthorn_template";

/** All files of a run open their databases on one server, each with a pool of its own. */
const connections = 600;

export type TestServer = {
  url: string;
  /** Undefined while it is down; it is started again by itself. */
  pid(): number | undefined;
  /** Databases that tests made and did not drop. */
  leftovers(): Promise<string[]>;
  stop(): Promise<void>;
};

/** Starts a server in a directory of its own and makes the template every test database is cloned from. */
export async function startTestServer(place = tmpdir()): Promise<TestServer> {
  const dataDir = await mkdtemp(join(place, "posthorn-test-"));
  const server = await startEmbedded({ dataDir, log: silentLog(), settings: [`max_connections=${connections}`] });
  const admin = openDb({ url: server.url, pool: 1, log: silentLog() });
  await admin.unsafe(`create database ${templateName}`);
  await admin.end();
  const template = openDb({ url: withDatabase(server.url, templateName), pool: 1, log: silentLog() });
  await migrate(template, silentLog());
  await withoutExample(template);
  await template.end();
  return {
    url: server.url,
    pid: server.pid,
    async leftovers() {
      const sql = openDb({ url: server.url, pool: 1, log: silentLog() });
      const rows = await sql<{ name: string }[]>`
        select datname as name from pg_database where starts_with(datname, 't_') order by 1`;
      await sql.end();
      return rows.map(({ name }) => name);
    },
    async stop() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

let own: Promise<TestServer> | undefined;
let inUse = 0;

async function serverUrl(): Promise<string> {
  const given = process.env[variable];
  if (given) return given;
  own ??= startTestServer();
  return (await own).url;
}

export type TestDatabase = { url: string; sql: Sql; drop(): Promise<void> };

/** An instance is given its example domain once. Making keys for one that nobody uses was a third of what most programs of a run cost. */
async function withoutExample(sql: Sql): Promise<void> {
  await sql`insert into settings (name, value) values ('example_domain', 'none')`;
}

/** A fresh, migrated database; dropped by `drop`, which a test calls in its `after`. On the run's server, or on one that may be hurt. */
export async function createTestDatabase(
  options: {
    migrated?: boolean;
    /** The program's first start is to register example.test. */
    example?: boolean;
    server?: TestServer;
  } = {},
): Promise<TestDatabase> {
  const url = options.server?.url ?? (await serverUrl());
  if (!options.server) inUse++;
  const name = `t_${testFileName()}_${randomBytes(6).toString("hex")}`;
  const admin = openDb({ url, pool: 1, log: silentLog() });
  // On a busy machine a checkpoint, which a drop waits for, takes longer than a statement of the program may.
  const run = async (text: string) => {
    await admin.unsafe("set statement_timeout = 0");
    await admin.unsafe(text);
  };
  await run(`create database ${name}${options.migrated === false ? "" : ` template ${templateName}`}`);
  const cloned = withDatabase(url, name);
  const sql = openDb({ url: cloned, pool: 4, log: silentLog(), name: "test" });
  if (options.example) await sql`delete from settings where name = 'example_domain'`;
  return {
    url: cloned,
    sql,
    async drop() {
      await sql.end();
      await run(`drop database if exists ${name} with (force)`);
      await admin.end();
      // A file run alone started the server itself: its last database takes the server along.
      if (options.server || --inUse > 0 || !own) return;
      const server = await own;
      own = undefined;
      await server.stop();
    },
  };
}

/** So that a database which is left behind, or a session in the server's list, names its test. */
function testFileName(): string {
  return basename(process.argv[1] ?? "", ".test.ts")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, 40);
}

/** postgres://user:password@%2Fsocket%2Fdir/name with another name. */
export function withDatabase(url: string, name: string): string {
  return url.replace(/\/[^/?]+(\?|$)/, `/${name}$1`);
}
