/** --output of commands: what happens to the file when the command is interrupted, and which files are refused. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { programEnv, runCommand } from "../harness/program.ts";
import { bin } from "../harness/started.ts";
import { until } from "../harness/wait.ts";

let folder: string;
let server: Server;
let options: { dataDir: string; env: Record<string, string> };

/** An instance that answers the first page of an export, and never the second one. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-output-"));
  let pages = 0;
  server = createServer((_, response) => {
    pages += 1;
    if (pages > 1) return;
    response.end(JSON.stringify({ csv: "address\nada@there.test\n", nextPageToken: "2" }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  options = { dataDir: join(folder, "nothing-here"), env: { POSTHORN_URL: url, POSTHORN_KEY: "ph_x" } };
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test("an interrupted export leaves no file", { timeout: 60_000 }, async () => {
  const target = join(folder, "interrupted");
  await mkdir(target);
  const args = [bin, "suppressions", "export", "--output", join(target, "list.csv")];
  const child = spawn(process.execPath, args, { env: programEnv(options.dataDir, options), stdio: "ignore" });
  const closed = once(child, "close");
  await until("the incomplete file", async () => (await readdir(target)).length === 1);
  child.kill("SIGINT");
  assert.deepEqual(await closed, [null, "SIGINT"]);
  assert.deepEqual(await readdir(target), []);
});

test("an existing file of any kind is refused at once", { timeout: 60_000 }, async () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  for (const path of [pipe, "/dev/null", folder]) {
    const { code, stderr } = await runCommand(["suppressions", "export", "--output", path], options);
    assert.deepEqual([code, stderr.includes(`${path} already exists.`)], [2, true], stderr);
  }
});

test("--json and --output are refused together where JSON goes to standard output", { timeout: 60_000 }, async () => {
  for (const args of [
    ["emails", "content", "em_1"],
    ["inbound", "content", "in_1"],
    ["inbound", "attachment", "in_1", "1"],
  ]) {
    const { code, stderr } = await runCommand([...args, "--json", "--output", join(folder, "x")], options);
    assert.deepEqual([code, /either --json or --output/.test(stderr)], [2, true], stderr);
  }
});
