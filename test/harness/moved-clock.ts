/**
 * Moves the wall clock of a process: of the program, or of a PostgreSQL server of the test's own. The monotonic clock stays real, as
 * when an operator or NTP sets a machine's clock. time.ts moves the clock of a database on every machine.
 *
 * The library is our own: libfaketime calls fopen each time a process reads the clock, PostgreSQL reads it in signal handlers, and a
 * malloc inside an interrupted malloc ended the server ("malloc(): unsorted double linked list corrupted").
 */
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cleanEnvironment } from "../../src/postgres/embedded/account.ts";
import { startTestServer, type TestServer } from "./database.ts";
import { needs, pathOf } from "./foreign.ts";

/** False if the library can be built and preloaded, otherwise the skip reason. */
export const withoutMovedClock: string | false = process.platform === "linux" ? needs("gcc") : "Linux only";

export type MovedClock = {
  /** The environment of a process whose clock `set` moves. */
  env: Record<string, string>;
  /** Moves the clock to this many days from the real time, at once and for all processes with the environment. */
  set(days: number): Promise<void>;
  remove(): Promise<void>;
};

export async function createMovedClock(): Promise<MovedClock> {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-clock-"));
  const [library, file] = [join(directory, "moved-clock.so"), join(directory, "offset")];
  buildLibrary(library);
  // Processes map the file, so it is written in place.
  const offset = await open(file, "w");
  const set = async (days: number) => {
    const seconds = new BigInt64Array([BigInt(Math.round(days * 86_400))]);
    await offset.write(seconds, 0, seconds.byteLength, 0);
  };
  // PostgreSQL runs under another account when tests run as root.
  await chmod(directory, 0o755);
  await chmod(library, 0o755);
  await chmod(file, 0o644);
  const env = { LD_PRELOAD: library, MOVED_CLOCK_FILE: file };
  // The loader ignores a library that it cannot use, and tests without it would pass although no clock moves.
  await set(2);
  const { stdout } = spawnSync(process.execPath, ["-p", "Date.now()"], { env, encoding: "utf8", timeout: 60_000 });
  if (!(Number(stdout) > Date.now() + 86_400_000)) throw new Error(`${library} does not move the clock of a process`);
  await set(0);
  return {
    env,
    set,
    async remove() {
      await offset.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function buildLibrary(library: string): void {
  const source = fileURLToPath(new URL("moved-clock.c", import.meta.url));
  const args = ["-shared", "-fPIC", "-O1", "-o", library, source];
  const { status, stderr } = spawnSync(pathOf("gcc"), args, { encoding: "utf8", timeout: 60_000 });
  if (status !== 0) throw new Error(`gcc cannot build ${source}: ${stderr}`);
}

/** A PostgreSQL server of the test's own, whose clock `clock` moves. */
export async function startMovedClockServer(clock: MovedClock): Promise<TestServer> {
  const env = cleanEnvironment as Record<string, string | undefined>;
  Object.assign(env, clock.env);
  try {
    return await startTestServer();
  } finally {
    for (const name of Object.keys(clock.env)) delete env[name];
  }
}
