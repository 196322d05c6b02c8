/** npm test: starts one PostgreSQL for the whole run, then Node's test runner on every *.test.ts.
 * Arguments select files: npm test -- src/mail */
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { makeRsaKey } from "../src/mail/rsa-key.ts";
import { startTestServer } from "../test/harness/database.ts";
import { databaseFolder } from "./database-folder.ts";
import { foreignFiles } from "./foreign-files.ts";

const patterns = process.argv.slice(2).filter((arg) => !arg.startsWith("-"));
const flags = process.argv.slice(2).filter((arg) => arg.startsWith("-") && arg !== "--foreign");
const matching = ["src", "scripts", "test", "sdk/src", "sdk/test", "web/src", "bench"]
  // A killed run leaves copies of packages with their tests in test/output.
  .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { exclude: ["test/output/**"] }))
  .filter((file) => patterns.length === 0 || patterns.some((part) => file.includes(part)))
  .sort();
const files = process.argv.includes("--foreign") ? foreignFiles(matching) : matching;
if (files.length === 0) {
  process.stderr.write(`No test file matches ${patterns.join(" ")}.\n`);
  process.exit(1);
}

/** A test, or a file with all its tests (see test/harness/deadline.ts), that takes longer counts as hanging. */
const longestTestMs = 10 * 60_000;
/** Ten times the duration on two idle cores. */
const longestRunMs = 75 * 60_000;

const filesPerProcess = 12;

const serverFolder = await databaseFolder();
const server = await startTestServer(serverFolder);
const runFolder = await mkdtemp(join(tmpdir(), "posthorn-test-run-"));
const senderKey = await makeRsaKey(3);
const env = {
  ...process.env,
  TEST_DATABASE_URL: server.url,
  ...(serverFolder === tmpdir() ? {} : { TEST_DATABASE_IN_MEMORY: "1" }),
  TEST_SENDER_KEY: senderKey.export({ type: "pkcs8", format: "pem" }).toString(),
  TEST_RUN_LIMIT_MS: String(longestRunMs),
  // Every file runs in its own process, and loading our modules takes most of the time of a short one.
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../node_modules/.cache/posthorn-test", import.meta.url)),
};
let child: ReturnType<typeof spawn> | undefined;
// Ctrl-C reaches the runner too. This process keeps running to stop the server.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child?.kill("SIGTERM"));

let code = await run(await groupByFolder(files));
const leftovers = await server.leftovers();
if (code === 0 && leftovers.length > 0) {
  process.stderr.write(`\nTests left databases behind: ${leftovers.join(", ")}. Drop each in an after hook.\n`);
  code = 1;
}
await server.stop();
await rm(runFolder, { recursive: true, force: true });
if (serverFolder !== tmpdir()) await rm(serverFolder, { recursive: true, force: true });
process.exit(code);

/**
 * Groups the files of one folder of src into shared processes, because loading the modules under test takes longer than most tests. A group
 * is small enough to end long before its deadline on a busy machine.
 */
async function groupByFolder(all: readonly string[]): Promise<string[]> {
  const byFolder = Map.groupBy(all, (file) => /^src\/\w+/.exec(file)?.[0] ?? file);
  // Small folders of src share processes.
  const folders = Map.groupBy(all, (file) => {
    const folder = /^src\/\w+/.exec(file)?.[0];
    if (!folder) return file;
    return byFolder.get(folder)!.length < filesPerProcess / 2 ? "src/small" : folder;
  });
  const groups = [...folders].flatMap(([name, inFolder]) =>
    Array.from({ length: Math.ceil(inFolder.length / filesPerProcess) }, (_, i) => ({
      name: `${name.replace("/", "-")}-${i + 1}`,
      // Every nth file: neighbors often take equally long, so they are spread over the processes.
      some: inFolder.filter((_, n) => n % Math.ceil(inFolder.length / filesPerProcess) === i),
    })),
  );
  return await Promise.all(
    groups.map(async ({ name, some }) => {
      if (some.length === 1) return some[0]!;
      const entry = join(runFolder, `${name}.test.mts`);
      await writeFile(entry, some.map((file) => `import ${JSON.stringify(resolve(file))};\n`).join(""));
      return entry;
    }),
  );
}

async function run(entries: readonly string[]): Promise<number> {
  const skipped = join(runFolder, "skipped");
  const reporters = [
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./scripts/skipped-programs.ts", `--test-reporter-destination=${skipped}`],
  ];
  const limits = ["--test-concurrency=5", `--test-timeout=${longestTestMs}`, "--import=./test/harness/deadline.ts"];
  child = spawn(process.execPath, ["--test", ...limits, ...reporters, ...flags, ...entries], { stdio: "inherit", env });
  // One second after the deadline, so that the reporter can name the unfinished tests first.
  const late = setTimeout(() => child!.kill("SIGTERM"), longestRunMs + 1000);
  const code = await new Promise<number>((resolve) => child!.once("exit", (status) => resolve(status ?? 1)));
  clearTimeout(late);
  process.stdout.write(await readFile(skipped, "utf8").catch(() => ""));
  return code;
}
