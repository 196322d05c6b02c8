/** Servers that begin with kept data: the databases of `npm run bench -- growth --keep DIR`, which a later run uses again because filling them
 * takes most of the hour, and the empty server that run.ts prepares once for all benches of a run. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { silentLog } from "../../src/ops/log.ts";
import { startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { openDb, type Sql } from "../../src/postgres/pool.ts";
import {
  createTemplate,
  serverSettings,
  startTestServer,
  type TestDatabase,
  type TestServer,
  templateName,
  withDatabase,
} from "../../test/harness/database.ts";

/** The data directory of the prepared server, in the environment of a bench. */
export const preparedVariable = "BENCH_PREPARED_SERVER";

export async function prepareServer(dir: string): Promise<void> {
  const server = await startKeptServer(dir);
  await server.stop();
}

/** A server of its own for a bench. Copying the prepared one saves creating its files and migrating the template. */
export async function startOwnServer(settings: string[] = []): Promise<TestServer> {
  const prepared = process.env[preparedVariable];
  if (!prepared) return await startTestServer(tmpdir(), settings);
  const dir = await mkdtemp(join(tmpdir(), "posthorn-test-"));
  // cp keeps the account that PostgreSQL runs as.
  await promisify(execFile)("cp", ["-a", `${prepared}/.`, dir]);
  const server = await startKeptServer(dir, settings);
  return {
    ...server,
    async stop() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export async function startKeptServer(dir: string, settings: string[] = []): Promise<TestServer> {
  await mkdir(dir, { recursive: true });
  const server = await startEmbedded({ dataDir: dir, log: silentLog(), settings: [...serverSettings, ...settings] });
  if (!(await hasDatabase(server.url, templateName))) await createTemplate(server.url);
  return { url: server.url, dataDir: dir, pid: server.pid, leftovers: async () => [], stop: () => server.stop() };
}

export async function openKeptDatabase(server: TestServer, name: string): Promise<TestDatabase> {
  if (!(await hasDatabase(server.url, name))) {
    await asAdmin(server.url, (sql) => sql.unsafe(`create database ${name} template ${templateName}`));
  }
  const url = withDatabase(server.url, name);
  const sql = openDb({ url, pool: 4, log: silentLog(), name: "bench" });
  return { url, sql, drop: () => sql.end() };
}

async function hasDatabase(url: string, name: string): Promise<boolean> {
  const found = await asAdmin(url, (sql) => sql`select 1 from pg_database where datname = ${name}`);
  return found.length > 0;
}

async function asAdmin<T>(url: string, work: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = openDb({ url, pool: 1, log: silentLog() });
  return await Promise.resolve(work(sql)).finally(() => sql.end());
}

/** Runs `fill`, unless an earlier run has filled this database in the same way. */
export async function fillOnce(sql: Sql, size: object, fill: () => Promise<void>): Promise<void> {
  const wanted = JSON.stringify(size);
  const found = await filledWith(sql);
  if (found === wanted) return;
  if (found) throw new Error(`--keep: the folder has stores of ${found}, not of ${wanted}. Choose another folder.`);
  const [stored] = await sql<{ found: boolean }[]>`select exists (select from emails) as found`;
  if (stored!.found) throw new Error("--keep: an earlier run was stopped while it filled this folder. Remove it.");
  await fill();
  await sql`insert into settings (name, value) values ('bench_filled', ${wanted})`;
}

export async function isFilled(sql: Sql): Promise<boolean> {
  return (await filledWith(sql)) !== undefined;
}

async function filledWith(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'bench_filled'`;
  return row?.value;
}
