/** Keeps the compiled modules of the server in the data directory, because compiling takes half of a start. Called by commands/start.ts
 * before it loads the server. */
import { readdir, rm } from "node:fs/promises";
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { join } from "node:path";
import { makeDataDir } from "../postgres/embedded/location.ts";

/** In the data directory, because a directory for all accounts would let another account choose what this program runs. */
export const compiledFolder = (dataDir: string) => join(dataDir, "compiled");

/** Node writes the files when the process exits, and replaces those of modules that have changed. */
export async function useCompileCache(dataDir: string, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  // The operator has chosen another directory, or none.
  if (env.NODE_COMPILE_CACHE !== undefined || env.NODE_DISABLE_COMPILE_CACHE !== undefined) return;
  try {
    await makeDataDir(dataDir);
    enableCompileCache(compiledFolder(dataDir));
    const used = getCompileCacheDir();
    if (used === undefined) return;
    // Worker threads and further processes read the variable.
    env.NODE_COMPILE_CACHE = compiledFolder(dataDir);
    await removeOthers(compiledFolder(dataDir), used);
  } catch {
    // The program starts without the cache. If it needs the directory, opening the store reports why it cannot use it.
  }
}

/** Node keeps a folder for each of its versions, such as v24.21.0-x64-964aae3f-0. */
async function removeOthers(folder: string, used: string): Promise<void> {
  for (const name of await readdir(folder))
    if (/^v\d+\.\d+\.\d+-/.test(name) && join(folder, name) !== used)
      await rm(join(folder, name), { recursive: true, force: true });
}
