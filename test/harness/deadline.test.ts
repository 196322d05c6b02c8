import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("a process that something keeps from ending says what, and ends as failed", () => {
  const args = ["--import", fileURLToPath(new URL("deadline.ts", import.meta.url)), "--eval"];
  const env = { ...process.env, TEST_FILE_LIMIT_MS: "100" };
  const kept = spawnSync(process.execPath, [...args, "require('node:net').createServer().listen(0)"], { env });
  assert.equal(kept.status, 1);
  assert.match(kept.stderr.toString(), /had not ended after 0\.1 s\. Still open: .*TCPServerWrap/);
  assert.equal(spawnSync(process.execPath, [...args, "0"], { env }).status, 0);
});
