/** The data directory at the first start: inaccessible to other accounts, and a one-sentence error if it is unusable or full. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, open, readdir, rm, stat, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { mountSmallDisk, unmount, withoutMount } from "../faults/disk-full.ts";
import { isRoot } from "../harness/embedded.ts";
import { pathOf } from "../harness/foreign.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

/** The program generates its secret. */
const env = { POSTHORN_SECRET: "" };

/** Runs a start that must fail, and returns its error: one line without a stack trace. */
async function startError(dataDir: string): Promise<string> {
  const { code, stderr } = await runCommand(["start"], { dataDir, env });
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^[^\n]+\.\n$/);
  return stderr.trim();
}

describe("a data directory that cannot be used", () => {
  let parent = "";
  before(async () => {
    parent = await mkdtemp(join(tmpdir(), "posthorn-bad-"));
  });
  after(async () => await rm(parent, { recursive: true, force: true }));

  it("is named in the error if it is a file", async () => {
    await writeFile(join(parent, "file"), "");
    for (const dataDir of [join(parent, "file"), join(parent, "file", "data")])
      assert.match(
        await startError(dataDir),
        /the data directory \S+: a file or a broken link is in the way\. Set POSTHORN_DATA_DIR/,
      );
  });

  it("is named in the error if it is not writable", { skip: isRoot && "root may write everywhere" }, async () => {
    const dataDir = join(parent, "closed");
    await mkdir(dataDir, { mode: 0o500 });
    assert.match(
      await startError(dataDir),
      /the data directory \S+closed: permission denied\. Run Posthorn as the owner/,
    );
  });

  it("is named in the error if its file system is read-only", { skip: withoutMount }, async () => {
    const disk = await mountSmallDisk();
    try {
      await promisify(execFile)(pathOf("mount"), ["-o", "remount,ro", disk]);
      for (const dataDir of [disk, join(disk, "data")])
        assert.match(
          await startError(dataDir),
          /the data directory \S+: the file system is read-only\. Set POSTHORN_DATA_DIR/,
        );
    } finally {
      unmount(disk);
      await rm(disk, { recursive: true, force: true });
    }
  });
});

it("a new data directory is inaccessible to other accounts", async (t) => {
  const parent = await mkdtemp(join(tmpdir(), "posthorn-mode-"));
  t.after(() => rm(parent, { recursive: true, force: true }));
  const dataDir = join(parent, "above", "data");
  const mode = async (path: string) => (await stat(path)).mode & 0o777;
  // The result must not depend on the umask of the test run.
  const umask = process.umask(0);
  try {
    const program = await startProgram({ dataDir, env });
    await program.stop();
  } finally {
    process.umask(umask);
  }
  assert.equal(await mode(dataDir), isRoot ? 0o710 : 0o700);
  for (const name of ["secret", "first-key", "ports.json", "postgres.json", "postgres.log"])
    assert.equal(await mode(join(dataDir, name)), 0o600, name);
  assert.equal(await mode(join(dataDir, "postgres")), 0o700);
});

/** Free space before each start: too little for the secret, for initdb, for the database, for its tables. */
const steps = [0, 8, 64, 1000, 20_000, 41_000, 0, 500, 3000].map((kib) => kib * 1024);

it("a full disk at any point of the first start gives a one-sentence error, and the next start continues", {
  skip: withoutMount,
}, async () => {
  const disk = await mountSmallDisk();
  let program: RunningProgram | undefined;
  try {
    const dataDir = join(disk, "data");
    for (const free of steps) {
      await fillUntil(disk, free);
      const message = await startError(dataDir);
      assert.match(message, /^The disk of .*\S+data is full\. Free some space .* and start again\.$/, `${free} bytes`);
      assert.ok(message.includes(dataDir), message);
      const drafts = (await readdir(dataDir)).filter((name) => /\.tmp$|\.new-|\.lock|\.json\.|\.conf\./.test(name));
      assert.deepEqual(drafts, [], `partial files with ${free} bytes free`);
    }
    await rm(join(disk, "ballast"));
    program = await startProgram({ dataDir, env });
    const email = { from: "a@example.test", to: ["b@example.test"], subject: "Hello", body: "It works." };
    assert.equal((await program.call("EmailService/SendEmail", email)).body.status, "EMAIL_STATUS_SENT");
    await fillUntil(disk, 20 * 2 ** 20);
    const { code, stderr } = await runCommand(["backup", join(disk, "saved")], { dataDir, env });
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^The backup needs \d+ MB, but the disk of \S+saved has only 20 MB free\. Free some space, .*\.\n$/,
    );
    assert.equal((await program.call("EmailService/SendEmail", email)).body.status, "EMAIL_STATUS_SENT");
    assert.deepEqual((await readdir(disk)).sort(), ["ballast", "data"]);
  } finally {
    await program?.stop();
    unmount(disk);
    await rm(disk, { recursive: true, force: true });
  }
});

/** Fills the disk with one file until only this many bytes are free. */
async function fillUntil(disk: string, free: number): Promise<void> {
  const path = join(disk, "ballast");
  await rm(path, { force: true });
  const { bavail, bsize } = await statfs(disk);
  const file = await open(path, "w");
  try {
    const chunk = Buffer.alloc(2 ** 20);
    for (let left = bavail * bsize - free; left > 0; left -= chunk.length)
      await file.write(chunk, 0, Math.min(left, chunk.length));
  } finally {
    await file.close();
  }
}
