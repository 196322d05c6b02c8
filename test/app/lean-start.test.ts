import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
const printProcess =
  "data:text/javascript,console.error(process.pid, process.env.MALLOC_MMAP_THRESHOLD_, ...process.execArgv)";

/** An invalid setting ends the start at once. */
function run(...args: string[]): string[] {
  const env = { ...process.env, POSTHORN_HTTP: "nonsense" };
  const { status, stderr } = spawnSync(process.execPath, ["--import", printProcess, ...args], {
    encoding: "utf8",
    env,
  });
  assert.equal(status, 2, stderr);
  assert.match(stderr, /POSTHORN_HTTP: "nonsense" is not host:port/);
  return stderr.split("\n").filter((line) => /^\d+ /.test(line));
}

test("start restarts itself in the same process with memory limits, and keeps a limit that is already set", () => {
  const starts = run(bin, "start");
  assert.equal(starts.length, 2);
  assert.equal(starts[0]!.split(" ")[0], starts[1]!.split(" ")[0]);
  assert.match(starts[1]!, /^\d+ 1048576 .*--max-semi-space-size=16$/);
  const [, explicit] = run("--max-semi-space-size=32", bin, "start");
  assert.match(explicit!, /^\d+ 1048576 .*--max-semi-space-size=32$/);
  assert.ok(!explicit!.includes("=16"));
  assert.equal(run(bin, "queue").length, 1);
});
