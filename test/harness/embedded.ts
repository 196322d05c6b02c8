/** Helpers for the tests of the embedded PostgreSQL: temporary directories, programs that a test can kill, queries. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { silentLog } from "../../src/ops/log.ts";
import { type Embedded, type EmbeddedOptions, startEmbedded } from "../../src/postgres/embedded/embedded.ts";
import { openDb, type Sql } from "../../src/postgres/pool.ts";

export const isRoot = process.getuid?.() === 0;
export const needsRoot = isRoot ? false : "needs root to act as two users";

/** Makes a directory that every account may enter. The 0700 of mkdtemp would keep PostgreSQL's account out when tests run as
 * root; tests of that case close the directory themselves. */
export async function newDirectory(t: { after(work: () => Promise<void>): void }, parent = tmpdir()): Promise<string> {
  const directory = await mkdtemp(join(parent, "posthorn-embedded-"));
  await chmod(directory, 0o755);
  t.after(async () => {
    // Hooks run in the order of registration, so this hook must stop the servers before it removes their data.
    for (const server of running) await server.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return directory;
}

const running = new Set<Embedded>();

export async function start(
  t: TestContext,
  options: Partial<EmbeddedOptions> & { dataDir: string },
): Promise<Embedded> {
  const server = await startEmbedded({ log: recorder(), ...options });
  running.add(server);
  t.after(() => server.stop());
  return server;
}

export function recorder() {
  const lines: string[] = [];
  const write = (level: string) => (facts: object, message: string) => {
    lines.push(`${level} ${message} ${JSON.stringify(facts)}`);
  };
  return { lines, info: write("info"), warn: write("warn"), error: write("error") };
}

export async function query<T extends readonly object[]>(url: string, run: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = openDb({ url, pool: 1, log: silentLog() });
  try {
    return await run(sql);
  } finally {
    await sql.end();
  }
}

export type Program = {
  child: ChildProcess;
  ready: Promise<{ url: string; serverPid: number }>;
};

/** Starts the database in a separate process, which prints its URL and stops the database on SIGTERM. It ignores SIGINT, like a
 * program with a long drain. */
export function runProgram(t: TestContext, dataDir: string, runAs: { uid?: number; gid?: number } = {}): Program {
  const source = `
    import { startEmbedded } from ${JSON.stringify(new URL("../../src/postgres/embedded/embedded.ts", import.meta.url).href)};
    const write = (...args) => console.error(...args);
    const server = await startEmbedded({ dataDir: ${JSON.stringify(dataDir)}, log: { info: write, warn: write, error: write } });
    const keepAlive = setInterval(() => {}, 1000);
    process.on("SIGINT", () => {});
    process.on("SIGTERM", async () => { await server.stop(); clearInterval(keepAlive); });
    console.log(JSON.stringify({ url: server.url, serverPid: server.pid() }));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    ...runAs,
    cwd: "/",
    // A separate process group, as a shell makes for each command in a terminal.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const ready = (async () => {
    for await (const line of createInterface(child.stdout)) return JSON.parse(line);
    throw new Error(`the program ended: ${errors}`);
  })();
  return { child, ready };
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `waited 120 s for ${what}`);
    await delay(10);
  }
}
