import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
const say = "data:text/javascript,console.error(process.pid, process.env.MALLOC_MMAP_THRESHOLD_, ...process.execArgv)";

/** A mistake in the settings ends the start before it begins anything. */
function run(...args: string[]): string[] {
  const env = { ...process.env, POSTHORN_HTTP: "nonsense" };
  const { status, stderr } = spawnSync(process.execPath, ["--import", say, ...args], { encoding: "utf8", env });
  assert.equal(status, 2, stderr);
  assert.match(stderr, /POSTHORN_HTTP: "nonsense" is not host:port/);
  return stderr.split("\n").filter((line) => /^\d+ /.test(line));
}

test("start goes on as the same process with bounds to its memory; what is asked for otherwise is left alone", () => {
  const starts = run(bin, "start");
  assert.equal(starts.length, 2);
  assert.equal(starts[0]!.split(" ")[0], starts[1]!.split(" ")[0]);
  assert.match(starts[1]!, /^\d+ 1048576 .*--max-semi-space-size=16$/);
  const [, asked] = run("--max-semi-space-size=32", bin, "start");
  assert.match(asked!, /^\d+ 1048576 .*--max-semi-space-size=32$/);
  assert.ok(!asked!.includes("=16"));
  assert.equal(run(bin, "queue").length, 1);
});
