/** npm test: one PostgreSQL for the whole run, then node's own test runner over every *.test.ts. Arguments narrow it: npm test -- src/mail */
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { makeRsaKey } from "../src/mail/rsa-key.ts";
import { startTestServer } from "../test/harness/database.ts";
import { foreignFiles } from "./foreign-files.ts";
import { roomyPlace } from "./roomy-place.ts";

const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith("-"));
const flags = process.argv.slice(2).filter((arg) => arg.startsWith("-") && arg !== "--foreign");
const matching = ["src", "scripts", "test", "sdk/src", "sdk/test", "web/src", "bench"]
  // A run that was killed leaves copies of packages in test/output, with their tests.
  .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { exclude: ["test/output/**"] }))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort();
const files = process.argv.includes("--foreign") ? foreignFiles(matching) : matching;
if (files.length === 0) {
  process.stderr.write(`No test file matches ${wanted.join(" ")}.\n`);
  process.exit(1);
}

/** A test, and a file with all its tests (see test/harness/deadline.ts), that take longer hang. */
const longestTestMs = 10 * 60_000;
/** Ten times what two calm cores take. */
const longestRunMs = 75 * 60_000;

const filesPerProcess = 12;

const serverPlace = await roomyPlace();
const server = await startTestServer(serverPlace);
const place = await mkdtemp(join(tmpdir(), "posthorn-test-run-"));
const senderKey = await makeRsaKey();
const env = {
  ...process.env,
  TEST_DATABASE_URL: server.url,
  TEST_SENDER_KEY: senderKey.export({ type: "pkcs8", format: "pem" }).toString(),
  TEST_RUN_LIMIT_MS: String(longestRunMs),
  // Every file is a process, and loading our own modules is most of what a short one does.
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../node_modules/.cache/posthorn-test", import.meta.url)),
};
let child: ReturnType<typeof spawn> | undefined;
// Ctrl-C reaches the runner too; we stay to stop the server.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child?.kill("SIGTERM"));

let code = await run(await groupByFolder(files));
const leftovers = await server.leftovers();
if (code === 0 && leftovers.length > 0) {
  process.stderr.write(`\nTests left databases behind: ${leftovers.join(", ")}. Drop each in an after hook.\n`);
  code = 1;
}
await server.stop();
await rm(place, { recursive: true, force: true });
if (serverPlace !== tmpdir()) await rm(serverPlace, { recursive: true, force: true });
process.exit(code);

/**
 * Puts files of one folder of src into one process: loading the modules under test takes longer than most of the tests. A process takes few
 * enough of them to end long before its deadline on a busy machine.
 */
async function groupByFolder(all: readonly string[]): Promise<string[]> {
  const folders = Map.groupBy(all, (file) => /^src\/\w+/.exec(file)?.[0] ?? file);
  const groups = [...folders].flatMap(([name, inFolder]) =>
    Array.from({ length: Math.ceil(inFolder.length / filesPerProcess) }, (_, i) => ({
      name: `${name.replace("/", "-")}-${i + 1}`,
      // Every nth file, so that neighbours, which are often alike in what they take, end up in different processes.
      some: inFolder.filter((_, n) => n % Math.ceil(inFolder.length / filesPerProcess) === i),
    })),
  );
  return await Promise.all(
    groups.map(async ({ name, some }) => {
      if (some.length === 1) return some[0]!;
      const entry = join(place, `${name}.test.mts`);
      await writeFile(entry, some.map((file) => `import ${JSON.stringify(resolve(file))};\n`).join(""));
      return entry;
    }),
  );
}

async function run(these: readonly string[]): Promise<number> {
  const skipped = join(place, "skipped");
  const reporters = [
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./scripts/skipped-programs.ts", `--test-reporter-destination=${skipped}`],
  ];
  const limits = ["--test-concurrency=5", `--test-timeout=${longestTestMs}`, "--import=./test/harness/deadline.ts"];
  child = spawn(process.execPath, ["--test", ...limits, ...reporters, ...flags, ...these], { stdio: "inherit", env });
  // The reporter names what hangs first.
  const late = setTimeout(() => child!.kill("SIGTERM"), longestRunMs + 1000);
  const code = await new Promise<number>((resolve) => child!.once("exit", (status) => resolve(status ?? 1)));
  clearTimeout(late);
  process.stdout.write(await readFile(skipped, "utf8").catch(() => ""));
  return code;
}
