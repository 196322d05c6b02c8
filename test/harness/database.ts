/**
 * Starts one embedded PostgreSQL per test run, with its usual settings, and clones a migrated template for each test file. The data of
 * a run may be in memory (scripts/database-folder.ts), where fsync costs nothing.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { silentLog } from "../../src/ops/log.ts";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { openDb, type Sql } from "../../src/postgres/pool.ts";

/** Set by scripts/test.ts for all files of a run. A file that runs alone starts its own server. */
const variable = "TEST_DATABASE_URL";
/** Set by scripts/test.ts if the data of that server is in memory. */
const inMemoryVariable = "TEST_DATABASE_IN_MEMORY";
export const templateName = "posthorn_template";

/** All files of a run use one server, each with its own pools. */
export const serverSettings = ["max_connections=600"];

export type TestServer = {
  url: string;
  dataDir: string;
  /** Undefined while the server is down; the supervisor in src/postgres/embedded restarts it. */
  pid(): number | undefined;
  /** Databases that tests created and did not drop. */
  leftovers(): Promise<string[]>;
  stop(): Promise<void>;
};

/** Starts a server in a new directory and creates the template for test databases. */
export async function startTestServer(parent = tmpdir(), settings: string[] = []): Promise<TestServer> {
  const dataDir = await mkdtemp(join(parent, "posthorn-test-"));
  const server = await startEmbedded({ dataDir, log: silentLog(), settings: [...serverSettings, ...settings] });
  await createTemplate(server.url);
  return {
    url: server.url,
    dataDir,
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

/** Creates the template for test databases on a server without one. */
export async function createTemplate(url: string): Promise<void> {
  const admin = openDb({ url, pool: 1, log: silentLog() });
  await admin.unsafe(`create database ${templateName}`);
  await admin.end();
  const template = openDb({ url: withDatabase(url, templateName), pool: 1, log: silentLog() });
  await migrate(template, silentLog());
  await withoutExample(template);
  await template.end();
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

/** Prevents the registration of the example domain at the first start. Making its unused keys took a third of the CPU time of
 * most programs in a test run. */
async function withoutExample(sql: Sql): Promise<void> {
  await sql`insert into settings (name, value) values ('example_domain', 'none')`;
}

/** Creates a migrated database on the run's server, or on a server that the test may damage. A test calls `drop` in its `after`. */
export async function createTestDatabase(
  options: {
    migrated?: boolean;
    /** Lets the program's first start register example.test. */
    example?: boolean;
    server?: TestServer;
  } = {},
): Promise<TestDatabase> {
  const url = options.server?.url ?? (await serverUrl());
  if (!options.server) inUse++;
  const name = `t_${testFileName()}_${randomBytes(6).toString("hex")}`;
  const admin = openDb({ url, pool: 1, log: silentLog() });
  // A drop waits for a checkpoint, which on a busy machine takes longer than the program's statement timeout.
  const run = async (text: string) => {
    await admin.unsafe("set statement_timeout = 0");
    await admin.unsafe(text);
  };
  await run(
    `create database ${name}${options.migrated === false ? "" : ` template ${templateName}`}${strategy(options)}`,
  );
  const databaseUrl = withDatabase(url, name);
  const sql = openDb({ url: databaseUrl, pool: 4, log: silentLog(), name: "test" });
  // The clocks of the template stopped when it was created.
  if (options.migrated !== false)
    await sql`update service_clock set started = true, service_at = now(), wall_at = now(), partitions_at = now()`;
  if (options.example) await sql`delete from settings where name = 'example_domain'`;
  return {
    url: databaseUrl,
    sql,
    async drop() {
      await sql.end();
      await run(`drop database if exists ${name} with (force)`);
      await admin.end();
      // A file that runs alone started the server itself, and stops it with its last database.
      if (options.server || --inUse > 0 || !own) return;
      const server = await own;
      own = undefined;
      await server.stop();
    },
  };
}

/** In memory, copying the files takes half of the CPU time of writing their pages to the log, 33 ms instead of 71 ms with the drop. On a
 * disk, it would wait until each of a thousand files is stored. */
function strategy({ server }: { server?: TestServer }): string {
  return process.env[inMemoryVariable] && !server ? " strategy file_copy" : "";
}

/** Part of the database name, so that leftover databases and sessions in pg_stat_activity show which test made them. */
function testFileName(): string {
  return basename(process.argv[1] ?? "", ".test.ts")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, 40);
}

/** The same URL with another database name: postgres://user:password@%2Fsocket%2Fdir/name. */
export function withDatabase(url: string, name: string): string {
  return url.replace(/\/[^/?]+(\?|$)/, `/${name}$1`);
}
