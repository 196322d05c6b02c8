import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "../../test/harness/wait.ts";
import { runInChild } from "./child.ts";

const script = fileURLToPath(new URL("./child-sample.ts", import.meta.url));
const start = (name: string, more: { limitMs?: number; env?: Record<string, string> } = {}) =>
  runInChild({ script, name, limitMs: 600_000, ...more });

test("rows arrive from the process of a bench, also figures that are not numbers", async () => {
  assert.deepEqual(await start("rows"), [{ what: "rows", value: Number.NaN, unit: "/s" }]);
});

test("an error of a bench is thrown, and a process that ends without rows is an error", async () => {
  await assert.rejects(start("throws"), /no such site/);
  await assert.rejects(start("exits"), /its process ended with 3/);
});

test("a bench that hangs is stopped with the programs that it started, and its temporary files are removed", {
  skip: process.platform === "linux" ? false : "reads /proc",
}, async () => {
  const own = await mkdtemp(join(tmpdir(), "posthorn-child-"));
  const file = join(own, "started");
  // Each try has more time, because the process may need more than the limit to start on a busy machine.
  for (let limitMs = 2000; !existsSync(file); limitMs *= 2)
    await assert.rejects(start("hangs", { limitMs, env: { SAMPLE_FILE: file } }), /not finished after/);
  const started = JSON.parse(await readFile(file, "utf8")) as { pid: number; own: number; folder: string };
  for (const pid of [started.own, started.pid]) await until(`process ${pid} to end`, () => !existsSync(`/proc/${pid}`));
  assert.ok(!existsSync(started.folder));
  await rm(own, { recursive: true });
});
