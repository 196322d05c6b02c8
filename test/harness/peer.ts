/** Runs the external programs that tests talk to, each in its own directory. test/harness/foreign.ts lists them. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchPath as path } from "./foreign.ts";
import { patienceMs } from "./wait.ts";

export type Peer = { directory: string; output(): string; stop(): Promise<void> };

/** Starts a program in the foreground and polls `ready` until it returns true. Fails if the program exits first. */
export async function startPeer(options: {
  name: string;
  prefix: string;
  args: (directory: string) => Promise<string[]>;
  ready: () => Promise<boolean>;
  /** Run as another account; the directory is made accessible to it. */
  runAs?: { uid: number; gid: number };
}): Promise<Peer> {
  const directory = await mkdtemp(join(tmpdir(), options.prefix));
  if (options.runAs) await chmod(directory, 0o711);
  const child = spawn(options.name, await options.args(directory), {
    ...options.runAs,
    env: { PATH: path },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (output += chunk));
  const failed = once(child, "exit").then(() => Promise.reject(new Error(`${options.name} ended:\n${output}`)));
  failed.catch(() => {});
  const stop = async () => {
    await end(child);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await Promise.race([failed, waitFor(options.name, options.ready, () => output)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { directory, output: () => output, stop };
}

export async function runPeer(name: string, args: string[], input = ""): Promise<string> {
  const child = spawn(name, args, { env: { PATH: path }, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (output += chunk));
  // A program that does not read its input may exit before the write.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${name} ${args.join(" ")} ended with ${code}:\n${output}`);
  return output;
}

async function waitFor(name: string, ready: () => Promise<boolean>, output: () => string): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end; ) {
    if (await ready().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${name} does not answer:\n${output()}`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}
