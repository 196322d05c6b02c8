import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { innerPath, spawnFor } from "./embedded-spawn.ts";
import { needsRoot, newPlace } from "./embedded-testing.ts";

test("paths are those of the file system, or start at the inherited descriptor below a closed directory", () => {
  const open = { home: "/srv/data", closed: false };
  const closed = { home: "/root/data", closed: true };
  assert.equal(innerPath(open, "/srv/data/postgres"), "/srv/data/postgres");
  assert.equal(innerPath(closed, "/root/data/postgres"), "/proc/self/fd/3/postgres");
  assert.equal(innerPath(closed, "/root/data"), "/proc/self/fd/3");
  assert.equal(innerPath(closed, "/tmp/posthorn-60825-x"), "/tmp/posthorn-60825-x", "a socket with a short name");
  assert.equal(innerPath(closed, "/root/database"), "/root/database");
});

test("a program of another account reads below a directory that it cannot enter", { skip: needsRoot }, async (t) => {
  const place = await newPlace(t);
  await chmod(place, 0o700);
  const home = join(place, "data");
  await mkdir(home);
  await chmod(home, 0o711);
  await writeFile(join(home, "words"), "read me", { mode: 0o644 });
  const read = async (closed: boolean) => {
    const args = [
      "-c",
      'read -r words < "$1"; echo "$words" >&2',
      "sh",
      innerPath({ home, closed }, join(home, "words")),
    ];
    const runAs = { uid: 60_900, gid: 60_900 };
    const child = spawnFor({ home, closed }, { program: "/bin/sh", args, runAs, output: "ignore", errors: "pipe" });
    let said = "";
    child.stderr?.on("data", (chunk) => {
      said += chunk;
    });
    await once(child, "close");
    return said;
  };
  assert.equal(await read(true), "read me\n");
  assert.match(await read(false), /Permission denied|cannot open/);
});
