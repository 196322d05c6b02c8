import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { compiledFolder, useCompileCache } from "./compile-cache.ts";

const run = promisify(execFile);
const folder = await mkdtemp(join(tmpdir(), "posthorn-compiled-"));
after(() => rm(folder, { recursive: true, force: true }));

test("a cache that the operator has chosen is kept, and the data directory is not touched", async () => {
  for (const name of ["NODE_COMPILE_CACHE", "NODE_DISABLE_COMPILE_CACHE"]) {
    const env: NodeJS.ProcessEnv = { [name]: "1" };
    await useCompileCache(join(folder, "untouched"), env);
    assert.deepEqual(env, { [name]: "1" });
  }
  assert.deepEqual(await readdir(folder), []);
});

test("a data directory that cannot be made does not end the start", async () => {
  await writeFile(join(folder, "file"), "");
  const env: NodeJS.ProcessEnv = {};
  await useCompileCache(join(folder, "file", "data"), env);
  assert.deepEqual(env, {});
});

test("the cache is in the data directory, and what another version of Node has left there is removed", async () => {
  const dataDir = join(folder, "data");
  await mkdir(join(compiledFolder(dataDir), "v1.2.3-x64-0-0"), { recursive: true });
  await writeFile(join(compiledFolder(dataDir), "notes"), "");
  const file = JSON.stringify(new URL("./compile-cache.ts", import.meta.url).href);
  const code = `
    const { useCompileCache } = await import(${file});
    await useCompileCache(${JSON.stringify(dataDir)});
    console.log(process.env.NODE_COMPILE_CACHE, (await import("node:module")).getCompileCacheDir());`;
  const { NODE_COMPILE_CACHE: _, NODE_DISABLE_COMPILE_CACHE: _disabled, ...env } = process.env;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], { env });
  const [variable, used] = stdout.trim().split(" ");
  assert.equal(variable, compiledFolder(dataDir));
  const left = (await readdir(compiledFolder(dataDir))).map((name) => join(compiledFolder(dataDir), name));
  assert.deepEqual(left.sort(), [join(compiledFolder(dataDir), "notes"), used!].sort());
});
