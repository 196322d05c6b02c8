#!/usr/bin/env node
// Starts the command line on the Node that the project brings along, whatever Node the machine has. Help needs neither.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { answer } from "./help.js";

// Two things about memory that a process can be told at its start only. V8 lets its young generation grow to 128 MiB on a machine with much
// memory, and does no better for it. And glibc, once it has seen large pieces come and go, keeps their memory for itself: 50 to 90 MiB of it.
const lean = "--max-semi-space-size=16";
const leanEnv = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "1048576", ...process.env };
const staysUp = ["start", "demo"].includes(process.argv[2]);
const told = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].some((flags) => flags.includes("semi-space-size"));
const flags = told ? [] : [lean];
const startsAnew = staysUp && (flags.length > 0 || process.env.MALLOC_MMAP_THRESHOLD_ === undefined);

const major = Number(process.versions.node.split(".")[0]);
const said = answer(process.argv.slice(2));
if (said) {
  const stream = said.code === 0 ? process.stdout : process.stderr;
  // A reader that closes the pipe early, such as head, is no failure.
  stream.on("error", () => {});
  stream.write(said.text);
  process.exitCode = said.code;
} else if (major >= 24 && startsAnew && process.platform !== "win32") {
  // The same process goes on, under the same number.
  const args = [...process.execArgv, ...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  process.execve(process.execPath, [process.execPath, ...args], leanEnv);
} else if (major >= 24) {
  // Before the rest is read, which takes most of a second: a signal in that time must end the command as cleanly as a later one.
  const { listenForStop } = await import("../src/app/stop-signal.ts");
  const drains = ["start", "demo", "events", "migrate"].includes(process.argv[2]);
  const stop = drains ? listenForStop() : new AbortController().signal;
  const { main } = await import("../src/app/cli.ts");
  await main(process.argv.slice(2), stop);
} else {
  const own = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  if (!existsSync(own)) {
    process.stderr.write(
      `Posthorn needs Node 24 (this is ${process.version}). Run npm ci in its folder: it brings Node 24 along.\n`,
    );
    process.exit(1);
  }
  const args = [...(startsAnew ? flags : []), fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  // Each signal goes on to the child, also one that its terminal or its group sent it already: the child counts repeats once.
  // Listening comes first: a signal between the two would end this process and leave the child behind.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  const child = spawn(own, args, { stdio: "inherit", env: startsAnew ? leanEnv : process.env });
  child.on("error", (error) => {
    process.stderr.write(
      `${own} cannot be run: ${error.message}. Run npm ci in ${fileURLToPath(new URL("..", import.meta.url))}\n`,
    );
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
