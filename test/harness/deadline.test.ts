import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

test("a test process that does not end reports its open resources and exits with code 1", () => {
  const args = ["--import", fileURLToPath(new URL("deadline.ts", import.meta.url)), "--eval"];
  const env = { ...process.env, TEST_FILE_LIMIT_MS: "100" };
  const blocked = spawnSync(process.execPath, [...args, "require('node:net').createServer().listen(0)"], { env });
  assert.equal(blocked.status, 1);
  assert.match(blocked.stderr.toString(), /had not ended after 0\.1 s\. Still open: .*TCPServerWrap/);
  assert.equal(spawnSync(process.execPath, [...args, "0"], { env }).status, 0);
});
