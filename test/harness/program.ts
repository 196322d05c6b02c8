/** Runs the real program as a child process, as an operator would, on the test's own database. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { patienceMs, until } from "./wait.ts";

export const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
/** The flags and variables with which bin/posthorn.js re-executes itself. Setting them here avoids the second start. */
const nodeFlags = ["--max-semi-space-size=16"];
const mallocEnv = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "1048576" };

export type ProgramOptions = {
  /** If undefined, the program runs the embedded PostgreSQL in its data directory. */
  databaseUrl?: string;
  dataDir?: string;
  env?: Record<string, string>;
  /** The number of files and sockets that the program may have open; by default that of the test. */
  openFiles?: number;
  /** The program of another commit and the settings that it supports; by default the program of this checkout. */
  checkout?: { bin: string; settings: ReadonlySet<string> };
};

export type Answer = { status: number; headers: Headers; body: Record<string, unknown> };

export type RunningProgram = {
  pid: number;
  url: string;
  /** The base URL of the operations port: /healthz, /readyz with details, /metrics. */
  opsUrl: string;
  key: string;
  dataDir: string;
  ports: { http: number; ops: number; smtp?: number; dns?: number; submission?: number; submissions?: number };
  output(): string;
  /** Makes one Connect call with JSON, as curl would. */
  call(
    method: string,
    request?: unknown,
    options?: { key?: string | null; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<Answer>;
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and waits until the process is gone. */
  kill(): Promise<void>;
  /** Removes the data directory; stops the program first if it runs. */
  remove(): Promise<void>;
};

export const testSecret = "the secret that all test programs share, 0123456789";

/** An interrupted test must not leave programs running. */
const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

export async function startProgram(options: ProgramOptions = {}): Promise<RunningProgram> {
  const dataDir = options.dataDir ?? (await newDataDir());
  const command = [process.execPath, ...nodeFlags, options.checkout?.bin ?? bin, "start"];
  // `exec` keeps the process id, by which the test recognizes its program.
  const limited = ["sh", "-c", `ulimit -n ${options.openFiles} && exec "$@"`, "sh", ...command];
  const [file, ...args] = options.openFiles === undefined ? command : limited;
  const child = spawn(file!, args, {
    env: onlyKnownSettings(options.checkout, programEnv(dataDir, options)),
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (output += chunk));
  const ports = await until("the program to write its ports", async () => {
    if (child.exitCode !== null) return { ended: child.exitCode };
    const read = JSON.parse(await readFile(join(dataDir, "ports.json"), "utf8")) as {
      pid: number;
      http: number;
      ops: number;
      smtp?: number;
      dns?: number;
      submission?: number;
      submissions?: number;
    };
    return read.pid === child.pid ? read : undefined;
  }).catch((error) => {
    child.kill("SIGKILL");
    throw new Error(`${error.message}\n${output}`);
  });
  if ("ended" in ports) throw new Error(`the program ended with ${ports.ended}:\n${output}`);
  const key =
    options.env?.POSTHORN_API_KEY ?? (await readFile(join(dataDir, "first-key"), "utf8").catch(() => "")).trim();
  const url = `http://127.0.0.1:${ports.http}`;
  return {
    pid: child.pid!,
    url,
    opsUrl: `http://127.0.0.1:${ports.ops}`,
    key,
    dataDir,
    ports,
    output: () => output,
    call: (method, request = {}, extra = {}) => call(url, method, request, { key, ...extra }),
    stop: () => end(child, "SIGTERM"),
    async kill() {
      await end(child, "SIGKILL");
    },
    async remove() {
      await end(child, "SIGTERM");
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function newDataDir(): Promise<string> {
  return await mkdtemp(join(tmpdir(), "posthorn-run-"));
}

/** Runs a command such as `posthorn keys create` and waits for its end. */
export async function runCommand(
  args: string[],
  options: ProgramOptions & { dataDir: string; input?: string },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [options.checkout?.bin ?? bin, ...args], {
    env: onlyKnownSettings(options.checkout, programEnv(options.dataDir, options)),
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {}).end(options.input ?? "");
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, stdout, stderr };
}

export async function call(
  url: string,
  method: string,
  request: unknown,
  options: { key?: string | null; headers?: Record<string, string>; signal?: AbortSignal },
): Promise<Answer> {
  const response = await fetch(`${url}/v1.${method}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "connect-protocol-version": "1",
      ...(options.key ? { authorization: `Bearer ${options.key}` } : {}),
      ...options.headers,
    },
    body: JSON.stringify(request),
    signal: options.signal,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

export function programEnv(dataDir: string, options: ProgramOptions): NodeJS.ProcessEnv {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith("POSTHORN_") && name !== "DATABASE_URL" && name !== "NODE_TEST_CONTEXT",
    ),
  );
  return {
    ...mallocEnv,
    ...inherited,
    // Compiling our own files takes most of a start. Node caches the result, keyed by content.
    NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/posthorn-test", import.meta.url)),
    // Not the profiles of the person who runs the tests.
    XDG_CONFIG_HOME: join(dataDir, "config"),
    POSTHORN_DATA_DIR: dataDir,
    POSTHORN_HTTP: "127.0.0.1:0",
    POSTHORN_SMTP: "127.0.0.1:0",
    POSTHORN_SUBMISSION: "127.0.0.1:0",
    POSTHORN_SUBMISSIONS: "127.0.0.1:0",
    POSTHORN_DNS: "127.0.0.1:0",
    POSTHORN_OPS: "127.0.0.1:0",
    POSTHORN_SECRET: testSecret,
    ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {}),
    ...options.env,
  };
}

/** Removes newer settings from the environment, because an older program rejects settings that it does not know. */
function onlyKnownSettings(checkout: ProgramOptions["checkout"], env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (!checkout) return env;
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith("POSTHORN_") || checkout.settings.has(name)),
  );
}

/** Longer than any drain. A program that is still running by then is killed. */
const endsWithinMs = patienceMs;

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const gone = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const late = setTimeout(() => {
    process.stderr.write(`process ${child.pid} did not end on ${signal}\n`);
    child.kill("SIGKILL");
  }, endsWithinMs);
  child.kill(signal);
  const code = await gone;
  clearTimeout(late);
  return code;
}
