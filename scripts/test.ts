/** npm test: one PostgreSQL for the whole run, then node's own test runner over every *.test.ts. Arguments narrow it: npm test -- src/mail */
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { startTestServer } from "../test/harness/database.ts";

const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith("-"));
const flags = process.argv.slice(2).filter((arg) => arg.startsWith("-"));
const files = ["src", "scripts", "test", "sdk/src", "sdk/test", "web/src", "bench"]
  .flatMap((folder) => globSync(`${folder}/**/*.test.ts`))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort();
if (files.length === 0) {
  process.stderr.write(`No test file matches ${wanted.join(" ")}.\n`);
  process.exit(1);
}

const server = await startTestServer();
const child = spawn(
  process.execPath,
  ["--test", "--test-concurrency=3", "--test-timeout=240000", "--test-reporter=spec", ...flags, ...files],
  {
    stdio: "inherit",
    env: { ...process.env, TEST_DATABASE_URL: server.url },
  },
);
// Ctrl-C reaches the runner too; we stay to stop the server.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
const code = await new Promise<number>((resolve) => child.once("exit", (status) => resolve(status ?? 1)));
await server.stop();
process.exit(code);
