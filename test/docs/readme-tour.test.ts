/** Follows the README's quick start literally: runs `npm start`, pastes each code block, and compares the output with the page. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pidTaken } from "../../src/postgres/embedded/process.ts";
import { blocksOf, root } from "../harness/pages.ts";
import { newDataDir } from "../harness/program.ts";
import { shell, startShell } from "../harness/shell.ts";
import { until } from "../harness/wait.ts";

const readme = await readFile(join(root, "README.md"), "utf8");
const tour = blocksOf(readme.slice(readme.indexOf("## Quick start"), readme.indexOf("## Comparison")));
const of = (language: string) => tour.filter((block) => block.language === language).map((block) => block.text);

let dataDir: string;
let npm: ChildProcess;
let output = "";
let url: string;
let env: NodeJS.ProcessEnv;

before(async () => {
  dataDir = await newDataDir();
  const any = "127.0.0.1:0";
  env = {
    ...process.env,
    POSTHORN_DATA_DIR: dataDir,
    POSTHORN_HTTP: any,
    POSTHORN_SMTP: any,
    POSTHORN_SUBMISSION: any,
    POSTHORN_SUBMISSIONS: any,
    POSTHORN_DNS: any,
    POSTHORN_OPS: any,
  };
  npm = spawn("npm", ["start"], { cwd: root, env });
  for (const stream of [npm.stdout, npm.stderr]) stream!.on("data", (chunk) => (output += chunk));
  await until("the welcome", () => output.includes("Posthorn is running") || npm.exitCode !== null);
  assert.equal(npm.exitCode, null, output);
  const { http } = JSON.parse(await readFile(join(dataDir, "ports.json"), "utf8")) as { http: number };
  url = `http://127.0.0.1:${http}`;
});
after(async () => {
  await endNpm();
  await rm(dataDir, { recursive: true, force: true });
});

/** Sends SIGTERM, as a service manager does, and returns the exit code. */
async function endNpm(): Promise<number | null> {
  if (npm.exitCode !== null || npm.signalCode !== null) return npm.exitCode;
  const gone = once(npm, "exit");
  npm.kill("SIGTERM");
  return (await gone)[0] as number | null;
}

/** Replaces the port and the data directory with those of this test. */
const here = (text: string) =>
  text.replaceAll("http://127.0.0.1:8825", url).replaceAll("data/first-key", `${dataDir}/first-key`);

/** Replaces values that differ between runs. Ids that the page shortens with … are treated as ids. */
const normalize = (text: string) =>
  text
    .replace(/\b(em|dom|evt|wh|in)_[0-9a-f…-]+/g, "$1_ID")
    .replace(/<[0-9a-f…-]+@/g, "<ID@")
    .replace(/\b[a-z0-9]{20}-([12])\./g, "TOKEN-$1.")
    .replace(/\b[a-z0-9]{20}@reports\./g, "TOKEN@reports.")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");

test("the first blocks send an email and print the response on the page", async () => {
  const [define, send] = of("sh") as [string, string];
  const run = async (command: string) =>
    JSON.parse((await shell(here(`${define}\n${command}`), { env })).stdout) as Record<string, unknown>;
  const expected = JSON.parse(of("json")[0]!) as Record<string, unknown>;
  const answer = await run(send);
  // A busy machine responds before the first attempt is finished; the email then reaches this status later.
  const finished = await until("the email to be sent", async () => {
    const { email } = await run(`call EmailService/GetEmail '{"id": "${answer.id}"}'`);
    const { status, statusMessage } = email as Record<string, unknown>;
    return status === expected.status ? { status, statusMessage } : undefined;
  });
  assert.equal(normalize(JSON.stringify({ ...answer, ...finished })), normalize(JSON.stringify(expected)));
});

test("the stream prints the events on the page", async () => {
  const [define, , follow] = of("sh") as [string, string, string];
  const expected = of("json")[1]!.trim().split("\n");
  // The reader would end the command with Ctrl-C.
  const lines = await firstLines(startShell(here(`${define}\nexec ${follow}`), { env }), expected.length);
  // The recipients of an email are tried at the same time, so the order of their events is not fixed.
  const inOrder = (all: string[]) =>
    all.map((line) => normalize(line).replace(/"cursor":"\d+"/, '"cursor":"N"')).sort();
  for (const [i, line] of inOrder(expected).entries()) assertShown(line, inOrder(lines)[i]!);
});

test("the commands print the output on the page", async () => {
  for (const session of of("console")) {
    const steps = session.split(/^\$ /m).slice(1);
    assert.ok(steps.length > 0);
    for (const step of steps) {
      const [command = "", ...shown] = step.trimEnd().split("\n");
      const { stdout } = await shell(command, { cwd: root, env });
      assertShown(normalize(shown.join("\n")), normalize(stdout.trimEnd()));
    }
  }
});

test("the TypeScript program runs as it is printed", async (t) => {
  await mkdir(join(root, "test/output"), { recursive: true });
  // Inside the checkout, so that the package resolves by its name.
  const folder = await mkdtemp(join(root, "test/output/tour-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "program.ts"), of("ts")[0]!);
  const KEY = (await readFile(join(dataDir, "first-key"), "utf8")).trim();
  const child = spawn(process.execPath, ["program.ts"], { cwd: folder, env: { ...env, KEY, POSTHORN_URL: url } });
  const lines = await firstLines(child, 3);
  assert.match(lines.join("\n"), /^email\.delivered em_/m);
});

test("SIGTERM to npm start stops the program and its database, with exit code 0", async () => {
  const { pid } = JSON.parse(await readFile(join(dataDir, "ports.json"), "utf8")) as { pid: number };
  const [postgres] = (await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8")).split("\n");
  for (const one of [pid, Number(postgres)]) assert.ok(pidTaken(one), `process ${one}`);
  assert.equal(await endNpm(), 0, output);
  for (const one of [pid, Number(postgres)]) assert.ok(!pidTaken(one), `process ${one} is gone with npm`);
  assert.match(output, /"msg":"stopped"/);
});

/** Returns the first lines that a long-running program prints, then ends it. */
async function firstLines(child: ChildProcess, count: number): Promise<string[]> {
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream!.on("data", (chunk) => (output += chunk));
  const gone = new Promise((resolve) => child.once("exit", resolve));
  try {
    await until(`${count} lines`, () => output.split("\n").length > count);
  } catch (error) {
    throw new Error(`${(error as Error).message}:\n${output}`);
  } finally {
    child.kill("SIGINT");
    await gone;
  }
  return output.split("\n").slice(0, count);
}

/** `…` on the page matches any text, including line breaks. */
function assertShown(shown: string, real: string): void {
  const pattern = shown
    .split("…")
    .map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("[\\s\\S]*");
  assert.match(real, new RegExp(`^${pattern}$`));
}
