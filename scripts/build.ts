/** npm run build: the SDK and the dashboard into their dist folders. `npm ci` runs it with --after-install, when the tools may be left out. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const tools = ["typescript", "vite"].filter((name) => !existsSync(`node_modules/${name}/package.json`));

if (process.argv.includes("--after-install") && tools.length > 0) {
  process.stdout.write(
    `The dashboard and the SDK are not built: ${tools.join(" and ")} are left out of this install. The server runs without them; a full npm ci builds them.\n`,
  );
} else {
  const done = spawnSync("npm", ["run", "--silent", "build", "-w", "sdk", "-w", "web"], { stdio: "inherit" });
  process.exitCode = done.status ?? 1;
}
