/** `npm start` as a service manager runs it: the signal to npm reaches the program, which drains and leaves nothing behind. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { pidTaken } from "../../src/store/embedded-process.ts";
import { newDataDir } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("SIGTERM to npm start stops the program and its database, with exit code 0", async (t) => {
  const dataDir = await newDataDir();
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const ports = { POSTHORN_HTTP: "127.0.0.1:0", POSTHORN_DNS: "127.0.0.1:0", POSTHORN_SMTP: "127.0.0.1:0" };
  const npm = spawn("npm", ["start"], { cwd: root, env: { ...process.env, ...ports, POSTHORN_DATA_DIR: dataDir } });
  let output = "";
  for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (chunk) => (output += chunk));
  await until("the welcome", () => output.includes("Posthorn is running"), { withinMs: 60_000 });
  const { pid } = JSON.parse(await readFile(join(dataDir, "ports.json"), "utf8")) as { pid: number };
  assert.ok(pidTaken(pid));
  npm.kill("SIGTERM");
  const [code] = await once(npm, "exit");
  assert.equal(code, 0, output);
  assert.ok(!pidTaken(pid), "the program is gone with npm");
  assert.match(output, /"msg":"stopped"/);
});
