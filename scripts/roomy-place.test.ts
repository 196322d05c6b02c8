import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { roomyPlace } from "./roomy-place.ts";

async function emptyFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "posthorn-roomy-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const otherSystem = process.platform !== "linux" && "only Linux has /dev/shm";

test("a run gets a folder in memory, and the folder of a run that is gone is removed", {
  skip: otherSystem,
}, async (t) => {
  const memory = await emptyFolder(t);
  // Larger than any process id.
  await mkdir(join(memory, "posthorn-tests-4194305-gone"));
  await mkdir(join(memory, `posthorn-tests-${process.ppid}-alive`));
  await mkdir(join(memory, "of-another-program"));
  const place = await roomyPlace(memory, 1);
  assert.match(place, new RegExp(`^${memory}/posthorn-tests-${process.pid}-`));
  const left = await readdir(memory);
  assert.deepEqual(left.filter((name) => !place.endsWith(name)).sort(), [
    "of-another-program",
    `posthorn-tests-${process.ppid}-alive`,
  ]);
});

test("without a place in memory that can be written to, or with too little of it, the disk serves", async (t) => {
  const folder = await emptyFolder(t);
  // Root may write to every folder, but not into a file.
  const file = join(folder, "file");
  await writeFile(file, "");
  assert.equal(await roomyPlace(file, 1), tmpdir());
  assert.equal(await roomyPlace(join(folder, "absent"), 1), tmpdir());
  assert.equal(await roomyPlace(folder, Number.MAX_SAFE_INTEGER), tmpdir());
});
