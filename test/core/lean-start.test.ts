import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
const say = "data:text/javascript,console.error(process.pid, process.env.MALLOC_MMAP_THRESHOLD_, ...process.execArgv)";

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", say, ...args], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return { stdout, starts: stderr.trim().split("\n") };
}

test("start goes on as the same process with bounds to its memory; what is asked for otherwise is left alone", () => {
  const { stdout, starts } = run(bin, "start", "--help");
  assert.match(stdout, /POSTHORN_HTTP/);
  assert.equal(starts.length, 2);
  assert.equal(starts[0]!.split(" ")[0], starts[1]!.split(" ")[0]);
  assert.match(starts[1]!, /^\d+ 1048576 .*--max-semi-space-size=16$/);
  const [, asked] = run("--max-semi-space-size=32", bin, "start", "--help").starts;
  assert.match(asked!, /^\d+ 1048576 .*--max-semi-space-size=32$/);
  assert.ok(!asked!.includes("=16"));
  assert.equal(run(bin, "--version").starts.length, 1);
});
