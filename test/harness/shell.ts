/** Runs commands from the docs in `sh`, as a person would paste them. Where curl is missing, test/harness/curl.ts replaces it. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { locate } from "./foreign.ts";
import { patienceMs } from "./wait.ts";

export type ShellOptions = { env?: NodeJS.ProcessEnv; cwd?: string; timeoutMs?: number };

/** Returns the output. Rejects with the exit code and standard error of a command that failed. */
export async function shell(script: string, options: ShellOptions = {}): Promise<{ stdout: string; stderr: string }> {
  const { env = process.env, cwd, timeoutMs = patienceMs } = options;
  return await promisify(execFile)("sh", ["-eu", "-c", script], { env: withCurl(env), cwd, timeout: timeoutMs });
}

/** For a command that runs until it is stopped. */
export function startShell(script: string, options: ShellOptions = {}): ChildProcess {
  const { env = process.env, cwd } = options;
  return spawn("sh", ["-c", script], { env: withCurl(env), cwd });
}

/** The environment with a `curl` in its PATH: the real one, or the replacement. */
export function withCurl(env: NodeJS.ProcessEnv, replacement = locate("curl") === undefined): NodeJS.ProcessEnv {
  return replacement ? { ...env, PATH: [replacementFolder(), env.PATH].join(delimiter) } : env;
}

let folder: string | undefined;

function replacementFolder(): string {
  if (folder !== undefined) return folder;
  folder = mkdtempSync(join(tmpdir(), "posthorn-curl-"));
  const program = fileURLToPath(new URL("./curl.ts", import.meta.url));
  const file = join(folder, "curl");
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(file, 0o755);
  process.once("exit", () => rmSync(folder!, { recursive: true, force: true }));
  return folder;
}
