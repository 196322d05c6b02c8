import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { databaseFolder } from "./database-folder.ts";

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-database-folder-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const otherSystem = process.platform !== "linux" && "only Linux has /dev/shm";

test("a run gets a folder in memory, and folders of ended runs are removed", {
  skip: otherSystem,
}, async (t) => {
  const memory = await emptyFolder(t);
  // Larger than any process id.
  await mkdir(join(memory, "posthorn-tests-4194305-gone"));
  await mkdir(join(memory, `posthorn-tests-${process.ppid}-alive`));
  await mkdir(join(memory, "of-another-program"));
  const folder = await databaseFolder(memory, 1);
  assert.match(folder, new RegExp(`^${memory}/posthorn-tests-${process.pid}-`));
  const left = await readdir(memory);
  assert.deepEqual(left.filter((name) => !folder.endsWith(name)).sort(), [
    "of-another-program",
    `posthorn-tests-${process.ppid}-alive`,
  ]);
});

test("the temporary folder on disk is used if memory is not writable or too small", async (t) => {
  const folder = await emptyFolder(t);
  // Root may write to every folder, but a file is not a folder.
  const file = join(folder, "file");
  await writeFile(file, "");
  assert.equal(await databaseFolder(file, 1), tmpdir());
  assert.equal(await databaseFolder(join(folder, "absent"), 1), tmpdir());
  assert.equal(await databaseFolder(folder, Number.MAX_SAFE_INTEGER), tmpdir());
});
