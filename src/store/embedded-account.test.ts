import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { canEnter, chooseAccount, giveTo, initdbAccount } from "./embedded-account.ts";

const isRoot = process.getuid?.() === 0;
const stranger = { uid: 60_900, gid: 60_900 };
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-account-"));
});
after(async () => await rm(folder, { recursive: true, force: true }));

test("a directory is entered by its mode bits, from the root down to itself", async () => {
  const inner = join(folder, "inner");
  await mkdir(inner);
  const reachable = await canEnter(tmpdir(), stranger);
  const modes = async (outer: number, own: number) => {
    await chmod(folder, outer);
    await chmod(inner, own);
    return await canEnter(inner, stranger);
  };
  assert.equal(await modes(0o711, 0o711), reachable);
  assert.equal(await modes(0o711, 0o710), false);
  assert.equal(await modes(0o700, 0o711), false);
  const { uid, gid } = await stat(folder);
  assert.equal(await canEnter(folder, { uid, gid }), await canEnter(tmpdir(), { uid, gid }));
});

test("an ordinary user runs the server as itself, root never does", async () => {
  const chosen = await chooseAccount(join(folder, "postgres"), folder);
  if (isRoot) assert.ok(chosen && chosen.uid !== 0 && chosen.gid !== 0);
  else assert.equal(chosen, undefined);
});

test("initdb gets an account that has a name, in the server's group", () => {
  const { uid, gid } = initdbAccount(stranger);
  assert.notEqual(uid, 0);
  assert.equal(gid, stranger.gid);
});

test("whoever has the data directory serves it, and a tree changes hands whole", {
  skip: !isRoot && "needs root",
}, async () => {
  await mkdir(join(folder, "tree/below"), { recursive: true });
  await giveTo(join(folder, "tree"), stranger);
  for (const path of ["tree", "tree/below"]) {
    const { uid, gid } = await stat(join(folder, path));
    assert.deepEqual({ uid, gid }, stranger);
  }
  assert.deepEqual(await chooseAccount(join(folder, "none"), join(folder, "tree")), stranger);
});
