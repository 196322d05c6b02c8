#!/usr/bin/env node
// Runs the command line (src/app/cli.ts) on the Node 24 in node_modules, whichever Node the machine has. Help runs on either.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { answer } from "./help.js";

// Two memory limits that can be set only at the start of a process. On a machine with much memory, V8 lets its young generation grow to
// 128 MiB without a benefit. And glibc, once large blocks have been allocated and freed, keeps 50 to 90 MiB of them.
const heapFlag = "--max-semi-space-size=16";
const mallocEnv = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "1048576", ...process.env };
const isLongRunning = ["start", "demo"].includes(process.argv[2]);
const heapFlagSet = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].some((flags) =>
  flags.includes("semi-space-size"),
);
const flags = heapFlagSet ? [] : [heapFlag];
const needsRestart = isLongRunning && (flags.length > 0 || process.env.MALLOC_MMAP_THRESHOLD_ === undefined);

const major = Number(process.versions.node.split(".")[0]);
const output = answer(process.argv.slice(2));
if (output) {
  const stream = output.code === 0 ? process.stdout : process.stderr;
  // A reader such as head may close the pipe early, which is not a failure.
  stream.on("error", () => {});
  stream.write(output.text);
  process.exitCode = output.code;
} else if (major >= 24 && needsRestart && process.platform !== "win32") {
  // Replaces the program in this process; the process id stays.
  const args = [...process.execArgv, ...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  process.execve(process.execPath, [process.execPath, ...args], mallocEnv);
} else if (major >= 24) {
  // Listen before loading the other modules, which takes most of a second: a signal in that time must also end the command cleanly.
  const { listenForStop } = await import("../src/app/stop-signal.ts");
  const drains = ["start", "demo", "events", "migrate"].includes(process.argv[2]);
  const stop = drains ? listenForStop() : new AbortController().signal;
  const { main } = await import("../src/app/cli.ts");
  await main(process.argv.slice(2), stop);
} else {
  const own = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  if (!existsSync(own)) {
    process.stderr.write(
      `Posthorn needs Node 24 (this is ${process.version}). Run npm ci in its folder, which installs Node 24.\n`,
    );
    process.exit(1);
  }
  const args = [...(needsRestart ? flags : []), fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  // Forward every signal, although the child may have received it from the terminal too: it counts repeats once.
  // The handlers are installed before the spawn, so that no signal ends this process and leaves the child running.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  const child = spawn(own, args, { stdio: "inherit", env: needsRestart ? mallocEnv : process.env });
  child.on("error", (error) => {
    process.stderr.write(
      `${own} cannot be run: ${error.message}. Run npm ci in ${fileURLToPath(new URL("..", import.meta.url))}\n`,
    );
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
