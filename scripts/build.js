// npm run build: the SDK and the dashboard into their dist folders. `npm ci` runs it with --after-install, when the tools
// may have been left out. Plain JavaScript, because an install that brings no Node 24 along runs it with the machine's own.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";

// For `npx posthorn`. As a "bin" of package.json, npx would install this very package into its cache first, and build everything anew for that.
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
    `The SDK and the dashboard are not built: this install leaves out ${missing.join(", ")}. The server runs without them; a full "npm ci" builds them.\n`,
  );
} else {
  const done = spawnSync("npm", ["run", "--silent", "build", "-w", "sdk", "-w", "web"], { stdio: "inherit" });
  process.exitCode = done.status ?? 1;
}
