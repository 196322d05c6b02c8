#!/usr/bin/env node
// Starts the command line on the Node that the project brings along, whatever Node the machine has.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Two things about memory that a process can be told at its start only. V8 lets its young generation grow to 128 MiB on a machine with much
// memory, and does no better for it. And glibc, once it has seen large pieces come and go, keeps their memory for itself: 50 to 90 MiB of it.
const lean = "--max-semi-space-size=16";
const leanEnv = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "1048576", ...process.env };
const staysUp = ["start", "demo"].includes(process.argv[2]);
const told = [...process.execArgv, process.env.NODE_OPTIONS ?? ""].some((flags) => flags.includes("semi-space-size"));
const flags = told ? [] : [lean];
const startsAnew = staysUp && (flags.length > 0 || process.env.MALLOC_MMAP_THRESHOLD_ === undefined);

const major = Number(process.versions.node.split(".")[0]);
if (major >= 24 && startsAnew && process.platform !== "win32") {
  // The same process goes on, under the same number.
  const args = [...process.execArgv, ...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  process.execve(process.execPath, [process.execPath, ...args], leanEnv);
} else if (major >= 24) {
  const { main } = await import("../src/app/cli.ts");
  await main(process.argv.slice(2));
} else {
  const own = fileURLToPath(new URL("../node_modules/.bin/node", import.meta.url));
  if (!existsSync(own)) {
    process.stderr.write(
      `Posthorn needs Node 24 (this is ${process.version}). Run npm ci in its folder: it brings Node 24 along.\n`,
    );
    process.exit(1);
  }
  const args = [...(startsAnew ? flags : []), fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const child = spawn(own, args, { stdio: "inherit", env: startsAnew ? leanEnv : process.env });
  // A service manager tells us; a terminal's Ctrl-C reaches the child by itself.
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  process.on("SIGINT", () => {});
  child.on("exit", (code) => process.exit(code ?? 1));
}
