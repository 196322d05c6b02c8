/** Moves the wall clock of a process with libfaketime: of the program, or of a PostgreSQL server of the test's own. The monotonic clock
 * stays real, as when an operator or NTP sets a machine's clock. time.ts moves the clock of a database on every machine. */
import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanEnvironment } from "../../src/postgres/embedded/account.ts";
import { startTestServer, type TestServer } from "./database.ts";
import { needs, pathOf } from "./foreign.ts";

/** False if libfaketime is installed, otherwise the skip reason. */
export const withoutFakeTime: string | false = needs("faketime");

export type FakeClock = {
  /** The environment of a process whose clock `set` moves. */
  env: Record<string, string>;
  /** Moves the clock to this many days from the real time, at once and for all processes with the environment. */
  set(days: number): Promise<void>;
  remove(): Promise<void>;
};

export async function createFakeClock(): Promise<FakeClock> {
  const directory = await mkdtemp(join(tmpdir(), "posthorn-clock-"));
  // PostgreSQL runs under another account when tests run as root.
  await chmod(directory, 0o755);
  const file = join(directory, "offset");
  const set = async (days: number) => {
    await writeFile(`${file}.new`, `${days < 0 ? "-" : "+"}${Math.abs(days)}d\n`);
    await rename(`${file}.new`, file);
  };
  await set(0);
  return {
    env: {
      LD_PRELOAD: library(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    },
    set,
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

/** The library for programs with threads, wherever the package of this architecture has it. */
function library(): string {
  const { stdout } = spawnSync(pathOf("faketime"), ["-m", "-f", "+0", "printenv", "LD_PRELOAD"], { encoding: "utf8" });
  return stdout.trim().split(":").at(-1)!;
}

/** A PostgreSQL server of the test's own, whose clock `clock` moves. */
export async function startFakeTimeServer(clock: FakeClock): Promise<TestServer> {
  const env = cleanEnvironment as Record<string, string | undefined>;
  Object.assign(env, clock.env);
  try {
    return await startTestServer();
  } finally {
    for (const name of Object.keys(clock.env)) delete env[name];
  }
}
