/** Time from `posthorn start` on a store with 100,000 emails until /readyz answers 200, as an operator waits for it: with an external
 * database, and with the embedded one. npm run bench -- start; --scale 0.1 for a tenth of the emails. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { silentLog } from "../src/ops/log.ts";
import { startEmbedded } from "../src/postgres/embedded/embedded.ts";
import { openDb, type Sql } from "../src/postgres/pool.ts";
import { bin, newDataDir, programEnv, startProgram } from "../test/harness/program.ts";
import { addSendingDomain, senderDomain } from "../test/harness/testbed.ts";
import { benchWorkspace, startEnvironment } from "./lib/environment.ts";
import { fillHistory } from "./lib/history.ts";
import { percentiles } from "./lib/latency.ts";
import { profileEnv } from "./lib/profile.ts";
import type { Bench } from "./lib/report.ts";
import { quick, scale } from "./lib/scale.ts";

const emails = Math.round((quick ? 10_000 : 100_000) * scale);
const weeks = 4;
const starts = quick ? 2 : 5;
const withinMs = 60_000;

export const benchStart: Bench = async (progress) => {
  const environment = await startEnvironment();
  await (await environment.start()).remove();
  progress(`${emails} emails in an external database …`);
  await fill(environment.sql);
  const external = await startOften({ DATABASE_URL: environment.databaseUrl }, await newDataDir());
  await environment.stop();

  const dataDir = await newDataDir();
  await (await startProgram({ dataDir })).stop();
  progress(`${emails} emails in the embedded database …`);
  const server = await startEmbedded({ dataDir, log: silentLog() });
  const sql = openDb({ url: server.url, pool: 4, log: silentLog() });
  const [row] = await sql<{ value: string }[]>`select value from settings where name = 'first_workspace'`;
  await addSendingDomain(sql, row!.value, senderDomain);
  await fill(sql);
  await sql.end();
  await server.stop();
  const embedded = await startOften({}, dataDir);
  const what = `start with ${emails} emails until ready`;
  return [
    { what: `${what}, external database, p50`, value: external.p50, unit: "ms", most: 1500 },
    { what: `${what}, external database, longest`, value: external.longest, unit: "ms" },
    { what: `${what}, embedded database, p50`, value: embedded.p50, unit: "ms", most: 1500 },
    { what: `${what}, embedded database, longest`, value: embedded.longest, unit: "ms" },
  ];
};

async function fill(sql: Sql): Promise<void> {
  await fillHistory(sql, { ...(await benchWorkspace(sql)), emails, weeks }, () => {});
}

async function startOften(env: Record<string, string>, dataDir: string) {
  const times: number[] = [];
  for (let i = 0; i < starts; i++) {
    const took = await startOnce(env, dataDir);
    // The first start may compile.
    if (i > 0) times.push(took);
  }
  await rm(dataDir, { recursive: true, force: true });
  return percentiles(times);
}

/** The command of an operator, without the settings that make the program start faster in tests. */
async function startOnce(env: Record<string, string>, dataDir: string): Promise<number> {
  const port = await freePort();
  const settings = programEnv(dataDir, { env: { ...env, ...profileEnv(), POSTHORN_OPS: `127.0.0.1:${port}` } });
  for (const name of ["NODE_COMPILE_CACHE", "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_"]) delete settings[name];
  const began = performance.now();
  const child = spawn(process.execPath, [bin, "start"], { env: settings, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  try {
    while (!(await isReady(port))) {
      if (child.exitCode !== null || performance.now() - began > withinMs) throw new Error("the program did not start");
      await delay(5);
    }
    return performance.now() - began;
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

async function isReady(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.status === 200;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
