import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makePrivateFolder, writePrivate } from "./files.ts";

let place: string;
before(async () => {
  place = await mkdtemp(join(tmpdir(), "posthorn-files-"));
});
after(() => rm(place, { recursive: true, force: true }));

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test("a private file and its folder are closed to other accounts, and an existing folder keeps its mode", async () => {
  const folder = join(place, "parent/data");
  await writePrivate(join(folder, "first-key"), "secret\n");
  assert.deepEqual([await modeOf(folder), await modeOf(join(folder, "first-key"))], [0o700, 0o600]);
  assert.equal(await modeOf(join(place, "parent")), 0o777 & ~process.umask(), "folders above are the operator's");
  const before = await modeOf(place);
  await makePrivateFolder(place);
  assert.equal(await modeOf(place), before);
});

test("a private file is never written through a draft or a link that was there before", async () => {
  const folder = join(place, "links");
  await makePrivateFolder(folder);
  const target = join(place, "target");
  await writeFile(target, "untouched", { mode: 0o644 });
  await symlink(target, join(folder, "key"));
  await symlink(target, join(folder, `key.${process.pid}.tmp`));
  await writePrivate(join(folder, "key"), "secret");
  assert.equal(await readFile(target, "utf8"), "untouched");
  assert.equal(await readFile(join(folder, "key"), "utf8"), "secret");
  assert.equal(await modeOf(join(folder, "key")), 0o600);
  assert.deepEqual(await readdir(folder), ["key"]);
});
