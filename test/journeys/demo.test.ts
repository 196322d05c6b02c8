/** `posthorn demo` as a newcomer runs it: the whole story ends well, in half a minute, and leaves nothing behind. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommand } from "../harness/program.ts";
import { until } from "../harness/wait.ts";

const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));

test("the demo plays every step, and cleans up", async (t) => {
  const place = await mkdtemp(join(tmpdir(), "posthorn-demo-test-"));
  t.after(() => rm(place, { recursive: true, force: true }));
  const { code, stdout, stderr } = await runCommand(["demo"], {
    dataDir: join(place, "unused"),
    env: { TMPDIR: place },
  });
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.equal(stderr, "");
  const steps = stdout.match(/^ ?\d+ {2}.+ \d+\.\d s {2}ok$/gm) ?? [];
  assert.equal(steps.length, 10, stdout);
  for (const said of [
    "acme.test is READY",
    "SPF pass, DKIM pass, DMARC pass",
    "receipt.txt is byte for byte what was sent",
    "email.delayed",
    "email.bounced",
    "email.replied",
    "belongs to order 1042",
    "All 10 steps done",
  ])
    assert.ok(stdout.includes(said), `${said} is missing in:\n${stdout}`);
  assert.ok(!stdout.includes("\u001b"), "colours outside a terminal");
  assert.deepEqual(await readdir(place), []);
});

test("an interrupted demo says so, cleans up and ends with exit code 1", async (t) => {
  const place = await mkdtemp(join(tmpdir(), "posthorn-demo-test-"));
  t.after(() => rm(place, { recursive: true, force: true }));
  const child = spawn(process.execPath, [bin, "demo"], { env: { ...process.env, TMPDIR: place } });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  const ended = once(child, "exit");
  await until("the second step", () => output.includes(" 2  A domain is registered") || child.exitCode !== null);
  // Twice, as when npm passes on what the terminal sent already.
  for (const signal of ["SIGINT", "SIGINT"] as const) child.kill(signal);
  assert.deepEqual(await ended, [1, null], output);
  assert.match(output, /The demo was interrupted at step \d+ and removed its data\./);
  assert.match(output, /failed$/m);
  assert.deepEqual(await readdir(place), []);
});
