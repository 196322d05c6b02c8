#!/usr/bin/env node
// Starts the command line on the Node that the project brings along, whatever Node the machine has.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const major = Number(process.versions.node.split(".")[0]);
if (major >= 24) {
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
  const child = spawn(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // A service manager tells us; a terminal's Ctrl-C reaches the child by itself.
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  process.on("SIGINT", () => {});
  child.on("exit", (code) => process.exit(code ?? 1));
}
