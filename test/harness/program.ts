/** Runs the real program as a child process, as an operator would, on a database of the test's own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { patienceMs, until } from "./wait.ts";

const bin = fileURLToPath(new URL("../../bin/posthorn.js", import.meta.url));
/** As bin/posthorn.js starts itself anew; given at once, one start is enough. */
const startedWith = ["--max-semi-space-size=16"];
const startedIn = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "1048576" };

export type ProgramOptions = {
  /** Undefined: the program runs its own PostgreSQL in its data directory. */
  databaseUrl?: string;
  dataDir?: string;
  env?: Record<string, string>;
  /** The program of another commit, with the settings that it knows; this one's otherwise. */
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
  ports: { http: number; ops: number; smtp?: number; dns?: number };
  output(): string;
  /** One Connect call with JSON, as curl would make it. */
  call(
    method: string,
    request?: unknown,
    options?: { key?: string | null; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<Answer>;
  /** SIGTERM, and the exit code that follows. */
  stop(): Promise<number | null>;
  /** kill -9, returning when the process is gone. */
  kill(): Promise<void>;
  /** Removes the data directory; stops the program first if it runs. */
  remove(): Promise<void>;
};

export const testSecret = "the secret that all test programs share, 0123456789";

/** A test that is ended early must not leave programs behind. */
const children = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(1));

export async function startProgram(options: ProgramOptions = {}): Promise<RunningProgram> {
  const dataDir = options.dataDir ?? (await newDataDir());
  const child = spawn(process.execPath, [...startedWith, options.checkout?.bin ?? bin, "start"], {
    env: knownTo(options.checkout, programEnv(dataDir, options)),
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

/** Runs a command to its end: posthorn keys create and the like. */
export async function runCommand(
  args: string[],
  options: ProgramOptions & { dataDir: string },
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [options.checkout?.bin ?? bin, ...args], {
    env: knownTo(options.checkout, programEnv(options.dataDir, options)),
    stdio: ["ignore", "pipe", "pipe"],
  });
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
    ...startedIn,
    ...inherited,
    // Most of a start is reading our own files: kept for the next start, keyed by their content.
    NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/posthorn-test", import.meta.url)),
    POSTHORN_DATA_DIR: dataDir,
    POSTHORN_HTTP: "127.0.0.1:0",
    POSTHORN_SMTP: "127.0.0.1:0",
    POSTHORN_DNS: "127.0.0.1:0",
    POSTHORN_OPS: "127.0.0.1:0",
    POSTHORN_SECRET: testSecret,
    ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {}),
    ...options.env,
  };
}

/** An older program refuses settings that came after it. */
function knownTo(checkout: ProgramOptions["checkout"], env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (!checkout) return env;
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith("POSTHORN_") || checkout.settings.has(name)),
  );
}

/** Longer than any drain: a program that has not ended by then never will. */
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
