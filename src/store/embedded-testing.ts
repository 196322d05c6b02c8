/** What the tests of the embedded PostgreSQL share: places that are cleaned up, programs that can be killed, questions to a server. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { silentLog } from "../ops/log.ts";
import { openDb, type Sql } from "./db.ts";
import { type Embedded, type EmbeddedOptions, startEmbedded } from "./embedded.ts";

export const isRoot = process.getuid?.() === 0;
export const needsRoot = isRoot ? false : "needs root to act as two users";

/** A directory that every account may enter, so that a test closes it on purpose; mkdtemp's 0700 would, as root, be the closed home. */
export async function newPlace(t: { after(work: () => Promise<void>): void }, parent = tmpdir()): Promise<string> {
  const place = await mkdtemp(join(parent, "posthorn-embedded-"));
  await chmod(place, 0o755);
  t.after(async () => {
    // Hooks run in the order of their making, and a server goes before the ground it stands on.
    for (const server of running) await server.stop();
    await rm(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return place;
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

export async function query<T extends readonly object[]>(url: string, ask: (sql: Sql) => PromiseLike<T>): Promise<T> {
  const sql = openDb({ url, pool: 1, log: silentLog() });
  try {
    return await ask(sql);
  } finally {
    await sql.end();
  }
}

export type Program = {
  child: ChildProcess;
  ready: Promise<{ url: string; serverPid: number }>;
};

/** A process of its own that starts the database, tells where it is, and stops it on SIGTERM (SIGINT is a drain that never ends). */
export function runProgram(t: TestContext, dataDir: string, runAs: { uid?: number; gid?: number } = {}): Program {
  const source = `
    import { startEmbedded } from ${JSON.stringify(new URL("./embedded.ts", import.meta.url).href)};
    const say = (...words) => console.error(...words);
    const server = await startEmbedded({ dataDir: ${JSON.stringify(dataDir)}, log: { info: say, warn: say, error: say } });
    const life = setInterval(() => {}, 1000);
    process.on("SIGINT", () => {});
    process.on("SIGTERM", async () => { await server.stop(); clearInterval(life); });
    console.log(JSON.stringify({ url: server.url, serverPid: server.pid() }));`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    ...runAs,
    cwd: "/",
    // A process group of its own, as a shell gives to what it runs in a terminal.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let words = "";
  child.stderr.on("data", (chunk) => {
    words += chunk;
  });
  const ready = (async () => {
    for await (const line of createInterface(child.stdout)) return JSON.parse(line);
    throw new Error(`the program ended: ${words}`);
  })();
  return { child, ready };
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, `waited 120 s: ${what}`);
    await delay(10);
  }
}
