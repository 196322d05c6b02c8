// npm run build: builds the SDK and the dashboard into their dist folders. `npm ci` runs it with --after-install, where the build
// tools may be missing. Plain JavaScript, because an install without Node 24 runs it with the machine's own Node.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";

// A link for `npx posthorn`. With a "bin" in package.json instead, npx would first install this package into its cache and build it there.
try {
  mkdirSync("node_modules/.bin", { recursive: true });
  rmSync("node_modules/.bin/posthorn", { force: true });
  symlinkSync("../../bin/posthorn.js", "node_modules/.bin/posthorn");
} catch (error) {
  process.stderr.write(`npx posthorn will be slow the first time: ${error.message}\n`);
}

const missing = ["node", "typescript", "vite"].filter((name) => !existsSync(`node_modules/${name}/package.json`));

if (process.argv.includes("--after-install") && missing.length > 0) {
  process.stdout.write(
    `The SDK and the dashboard were not built, because this install omits ${missing.join(", ")}. The server runs without them; a full "npm ci" builds them.\n`,
  );
} else {
  const done = spawnSync("npm", ["run", "--silent", "build", "-w", "sdk", "-w", "web"], { stdio: "inherit" });
  process.exitCode = done.status ?? 1;
}
