/** Runs the projects of examples/ with the packed SDK, as a user does after `npm install`. examples.test.ts uses it. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../../test/harness/wait.ts";
import { makeProject, sdk } from "./project.ts";

export const examples = fileURLToPath(new URL("../../examples", import.meta.url));

/** Copies the examples into the checkout, next to the packed SDK. Frameworks are found in the checkout's node_modules. */
export async function installExamples(): Promise<{ folder: string; remove(): Promise<void> }> {
  const output = join(sdk, "../test/output");
  await mkdir(output, { recursive: true });
  const folder = await mkdtemp(join(output, "examples-"));
  const project = await makeProject();
  await cp(join(project, "node_modules/posthorn"), join(folder, "node_modules/posthorn"), { recursive: true });
  await rm(project, { recursive: true, force: true });
  const isSource = (path: string) => !path.slice(examples.length).includes("node_modules");
  await cp(examples, folder, { recursive: true, filter: isSource });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

export interface Running {
  output(): string;
  /** Waits until the output matches, and returns the match. Fails when the program exits first. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Waits for the end and returns the exit code. */
  ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
}

/** `file` overrides the start script. */
export async function startExample(
  cwd: string,
  env: Record<string, string>,
  { file, args = [] }: { file?: string; args?: string[] } = {},
): Promise<Running> {
  const manifest = JSON.parse(await readFile(join(cwd, "package.json"), "utf8")) as { scripts: { start: string } };
  const [node, script] = file ? ["node", file] : manifest.scripts.start.split(" ");
  assert.equal(node, "node");
  const child: ChildProcess = spawn(process.execPath, [script!, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (chunk) => (output += chunk));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    output: () => output,
    async waitFor(pattern) {
      await until(`${pattern} in the output`, () => pattern.test(output) || child.exitCode !== null);
      const match = pattern.exec(output);
      assert.ok(match, `expected ${pattern} in:\n${output}`);
      return match;
    },
    ended,
    kill: (signal) => void child.kill(signal),
  };
}
