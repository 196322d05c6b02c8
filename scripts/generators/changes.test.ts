// Checks that stale, missing and edited files are found and fixed, and that files outside a generator's folder are not touched.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { applyChanges, findChanges } from "./changes.ts";

let top = "";
before(async () => {
  top = await mkdtemp(join(tmpdir(), "posthorn-changes-"));
  await mkdir(join(top, "out/deep"), { recursive: true });
  for (const name of ["out/same", "out/edited", "out/deep/old", "other"]) await writeFile(join(top, name), "as it was");
});
after(() => rm(top, { recursive: true }));

const files = new Map([
  ["out/same", "as it was"],
  ["out/edited", "as it should be"],
  ["out/new/one", "new"],
]);
const generator = { name: "a sample", folder: "out", generate: async () => files };

test("a generator without a folder has no stale files", async () => {
  const found = await findChanges(top, { ...generator, folder: undefined });
  assert.deepEqual(
    found.map(({ path, kind }) => [path, kind]),
    [
      ["out/edited", "differs"],
      ["out/new/one", "missing"],
    ],
  );
});

test("changes are found in the order of their paths, and none is left after they are applied", async () => {
  const found = await findChanges(top, generator);
  assert.deepEqual(
    found.map(({ path, kind }) => [path, kind]),
    [
      ["out/deep/old", "stale"],
      ["out/edited", "differs"],
      ["out/new/one", "missing"],
    ],
  );
  await applyChanges(top, found);
  assert.deepEqual(await findChanges(top, generator), []);
  assert.equal(await readFile(join(top, "out/edited"), "utf8"), "as it should be");
  assert.equal(await readFile(join(top, "other"), "utf8"), "as it was");
});
