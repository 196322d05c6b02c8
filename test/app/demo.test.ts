/** `posthorn demo` as a newcomer runs it: every step succeeds, and the demo leaves no files behind. */
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

test("the demo runs every step and removes its data", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-demo-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { code, stdout, stderr } = await runCommand(["demo"], {
    dataDir: join(folder, "unused"),
    env: { TMPDIR: folder },
  });
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.equal(stderr, "");
  const steps = stdout.match(/^ ?\d+ {2}.+ \d+\.\d s {2}ok$/gm) ?? [];
  assert.equal(steps.length, 10, stdout);
  for (const expected of [
    "acme.test is READY",
    "SPF pass, DKIM pass, DMARC pass",
    "receipt.txt is identical to the file that was sent",
    "email.delayed",
    "email.bounced",
    "email.replied",
    "belongs to order 1042",
    "All 10 steps done",
  ])
    assert.ok(stdout.includes(expected), `${expected} is missing in:\n${stdout}`);
  assert.ok(!stdout.includes("\u001b"), "colors outside a terminal");
  assert.deepEqual(await readdir(folder), []);
});

test("an interrupted demo reports that, removes its data and exits with 1", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-demo-test-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const child = spawn(process.execPath, [bin, "demo"], { env: { ...process.env, TMPDIR: folder } });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  const ended = once(child, "exit");
  await until("the second step", () => output.includes(" 2  Register a domain") || child.exitCode !== null);
  // Twice, as when npm forwards a signal that the terminal also sent.
  for (const signal of ["SIGINT", "SIGINT"] as const) child.kill(signal);
  assert.deepEqual(await ended, [1, null], output);
  assert.match(output, /The demo was interrupted at step \d+ and removed its data\./);
  assert.match(output, /failed$/m);
  assert.deepEqual(await readdir(folder), []);
});
