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

const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith("-"));
const flags = process.argv.slice(2).filter((arg) => arg.startsWith("-") && arg !== "--foreign");
const matching = ["src", "scripts", "test", "sdk/src", "sdk/test", "web/src", "bench"]
  .flatMap((folder) => globSync(`${folder}/**/*.test.ts`))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .sort();
const files = process.argv.includes("--foreign") ? foreignFiles(matching) : matching;
if (files.length === 0) {
  process.stderr.write(`No test file matches ${wanted.join(" ")}.\n`);
  process.exit(1);
}

/** So many files that fail are broken; so few may have met a machine that stood still. */
const mayBeUnsteady = 5;
/** Three times what a slow machine takes: a run that is not over by then never will be. */
const longestRunMs = 35 * 60_000;

const server = await startTestServer();
const place = await mkdtemp(join(tmpdir(), "posthorn-test-run-"));
const senderKey = await makeRsaKey();
const env = {
  ...process.env,
  TEST_DATABASE_URL: server.url,
  TEST_SENDER_KEY: senderKey.export({ type: "pkcs8", format: "pem" }).toString(),
  // Every file is a process, and reading our own modules is most of what a short one does.
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../node_modules/.cache/posthorn-test", import.meta.url)),
};
let child: ReturnType<typeof spawn> | undefined;
// Ctrl-C reaches the runner too; we stay to stop the server.
let interrupted = false;
process.on("SIGINT", () => (interrupted = true));
process.on("SIGTERM", () => {
  interrupted = true;
  child?.kill("SIGTERM");
});

const first = await run(await byFolder(files), 5);
let { code } = first;
if (code !== 0 && !interrupted && first.failed.length > 0 && first.failed.length <= mayBeUnsteady) {
  // Real processes, sockets and clocks on a busy machine: what fails beside others and passes alone is told, and is still a bug.
  process.stdout.write(`\nOnce more, alone: ${first.failed.join(" ")}\n`);
  code = (await run(first.failed, 1)).code;
  if (code === 0) process.stdout.write(`\nUNSTEADY: failed once, passed alone: ${first.failed.join(" ")}\n`);
}
await server.stop();
await rm(place, { recursive: true, force: true });
process.exit(code);

/** The files of a folder of src in one process, where there are several: reading what they stand on takes longer than most of them. */
async function byFolder(all: readonly string[]): Promise<string[]> {
  const groups = Map.groupBy(all, (file) => /^src\/\w+/.exec(file)?.[0] ?? file);
  return await Promise.all(
    [...groups].map(async ([name, some]) => {
      if (some.length === 1) return some[0]!;
      const entry = join(place, `${name.replace("/", "-")}.test.mts`);
      await writeFile(entry, some.map((file) => `import ${JSON.stringify(resolve(file))};\n`).join(""));
      return entry;
    }),
  );
}

async function run(these: readonly string[], atOnce: number): Promise<{ code: number; failed: string[] }> {
  const list = join(place, "failed");
  const skipped = join(place, "skipped");
  const reporters = [
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./scripts/failed-files.ts", `--test-reporter-destination=${list}`],
    ...["--test-reporter=./scripts/skipped-programs.ts", `--test-reporter-destination=${skipped}`],
  ];
  const limits = [`--test-concurrency=${atOnce}`, "--test-timeout=200000", "--import=./test/harness/deadline.ts"];
  child = spawn(process.execPath, ["--test", ...limits, ...reporters, ...flags, ...these], { stdio: "inherit", env });
  const late = setTimeout(() => child!.kill("SIGTERM"), longestRunMs);
  const code = await new Promise<number>((resolve) => child!.once("exit", (status) => resolve(status ?? 1)));
  clearTimeout(late);
  process.stdout.write(await readFile(skipped, "utf8").catch(() => ""));
  const failed = (await readFile(list, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
  return { code, failed };
}
