import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { needsRoot, newDirectory } from "../../../test/harness/embedded.ts";
import { canEnter, chooseAccount, chownTree, initdbAccount, innerPath, spawnIn } from "./account.ts";

const isRoot = process.getuid?.() === 0;
const stranger = { uid: 60_900, gid: 60_900 };
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "posthorn-account-"));
});
after(async () => await rm(folder, { recursive: true, force: true }));

test("an account can enter a directory when the mode bits of every directory above allow it", async () => {
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

test("an ordinary user runs the server under its own account, and root under another one", async () => {
  const chosen = await chooseAccount(join(folder, "postgres"), folder);
  if (isRoot) assert.ok(chosen && chosen.uid !== 0 && chosen.gid !== 0);
  else assert.equal(chosen, undefined);
});

test("initdb runs under a named account in the server's group", () => {
  const { uid, gid } = initdbAccount(stranger);
  assert.notEqual(uid, 0);
  assert.equal(gid, stranger.gid);
});

test("the owner of the data directory runs the server, and chownTree changes every file", {
  skip: !isRoot && "needs root",
}, async () => {
  await mkdir(join(folder, "tree/below"), { recursive: true });
  await chownTree(join(folder, "tree"), stranger);
  for (const path of ["tree", "tree/below"]) {
    const { uid, gid } = await stat(join(folder, path));
    assert.deepEqual({ uid, gid }, stranger);
  }
  assert.deepEqual(await chooseAccount(join(folder, "none"), join(folder, "tree")), stranger);
});

test("below a closed directory a path goes through the inherited descriptor, and otherwise it is unchanged", () => {
  const open = { baseDir: "/srv/data", closed: false };
  const closed = { baseDir: "/root/data", closed: true };
  assert.equal(innerPath(open, "/srv/data/postgres"), "/srv/data/postgres");
  assert.equal(innerPath(closed, "/root/data/postgres"), "/proc/self/fd/3/postgres");
  assert.equal(innerPath(closed, "/root/data"), "/proc/self/fd/3");
  assert.equal(innerPath(closed, "/tmp/posthorn-60825-x"), "/tmp/posthorn-60825-x", "a socket in /tmp");
  assert.equal(innerPath(closed, "/root/database"), "/root/database");
});

test("a program of another account can read below a directory that it cannot enter", { skip: needsRoot }, async (t) => {
  const place = await newDirectory(t);
  await chmod(place, 0o700);
  const baseDir = join(place, "data");
  await mkdir(baseDir);
  await chmod(baseDir, 0o711);
  await writeFile(join(baseDir, "text"), "read me", { mode: 0o644 });
  const read = async (closed: boolean) => {
    const args = [
      "-c",
      'read -r text < "$1"; echo "$text" >&2',
      "sh",
      innerPath({ baseDir, closed }, join(baseDir, "text")),
    ];
    const runAs = { uid: 60_900, gid: 60_900 };
    const child = spawnIn({ baseDir, closed }, { program: "/bin/sh", args, runAs, output: "ignore", errors: "pipe" });
    let output = "";
    child.stderr?.on("data", (chunk) => {
      output += chunk;
    });
    await once(child, "close");
    return output;
  };
  assert.equal(await read(true), "read me\n");
  assert.match(await read(false), /Permission denied|cannot open/);
});
