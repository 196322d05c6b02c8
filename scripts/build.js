// npm run build: the SDK and the dashboard into their dist folders. `npm ci` runs it with --after-install, when the tools
// may have been left out. Plain JavaScript, because an install that brings no Node 24 along runs it with the machine's own.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const missing = ["node", "typescript", "vite"].filter((name) => !existsSync(`node_modules/${name}/package.json`));

if (process.argv.includes("--after-install") && missing.length > 0) {
  process.stdout.write(
    `The SDK and the dashboard are not built: this install leaves out ${missing.join(", ")}. The server runs without them; a full "npm ci" builds them.\n`,
  );
} else {
  const done = spawnSync("npm", ["run", "--silent", "build", "-w", "sdk", "-w", "web"], { stdio: "inherit" });
  process.exitCode = done.status ?? 1;
}
