/** The data directory on the first start: closed to others, and one sentence where it cannot be used or the disk is full. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, open, readdir, rm, stat, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { isRoot } from "../../src/store/embedded-testing.ts";
import { mountSmallDisk, unmount, withoutMount } from "../faults/disk-full.ts";
import { pathOf } from "../harness/foreign.ts";
import { type RunningProgram, runCommand, startProgram } from "../harness/program.ts";

/** The program makes a secret of its own. */
const env = { POSTHORN_SECRET: "" };

/** What a start that cannot be says, which is one line and no stack. */
async function refusal(dataDir: string): Promise<string> {
  const { code, stderr } = await runCommand(["start"], { dataDir, env });
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^[^\n]+\.\n$/);
  return stderr.trim();
}

describe("a data directory that cannot be used", () => {
  let place = "";
  before(async () => {
    place = await mkdtemp(join(tmpdir(), "posthorn-bad-"));
  });
  after(async () => await rm(place, { recursive: true, force: true }));

  it("is named when it is a file", async () => {
    await writeFile(join(place, "file"), "");
    for (const dataDir of [join(place, "file"), join(place, "file", "data")])
      assert.match(
        await refusal(dataDir),
        /the data directory \S+: a file or a broken link is in the way\. Set POSTHORN_DATA_DIR/,
      );
  });

  it("is named when it may not be written", { skip: isRoot && "root may write everywhere" }, async () => {
    const dataDir = join(place, "closed");
    await mkdir(dataDir, { mode: 0o500 });
    assert.match(await refusal(dataDir), /the data directory \S+closed: permission denied\. Run Posthorn as the owner/);
  });

  it("is named when its file system is read-only", { skip: withoutMount }, async () => {
    const disk = await mountSmallDisk();
    try {
      await promisify(execFile)(pathOf("mount"), ["-o", "remount,ro", disk]);
      for (const dataDir of [disk, join(disk, "data")])
        assert.match(
          await refusal(dataDir),
          /the data directory \S+: the file system is read-only\. Set POSTHORN_DATA_DIR/,
        );
    } finally {
      unmount(disk);
      await rm(disk, { recursive: true, force: true });
    }
  });
});

it("a new data directory is closed to other accounts", async (t) => {
  const place = await mkdtemp(join(tmpdir(), "posthorn-mode-"));
  t.after(() => rm(place, { recursive: true, force: true }));
  const dataDir = join(place, "above", "data");
  const mode = async (path: string) => (await stat(path)).mode & 0o777;
  // The umask of a test run must not decide.
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

/** Space that is left before each start: too little for the secret, for initdb, for the database, for its tables. */
const steps = [0, 8, 64, 1000, 20_000, 41_000, 0, 500, 3000].map((kib) => kib * 1024);

it("a full disk at any moment of the first start is one sentence, and the next start goes on", {
  skip: withoutMount,
}, async () => {
  const disk = await mountSmallDisk();
  let program: RunningProgram | undefined;
  try {
    const dataDir = join(disk, "data");
    for (const free of steps) {
      await leave(disk, free);
      const message = await refusal(dataDir);
      assert.match(message, /^The disk of .*\S+data is full\. Free some space .* and start again\.$/, `${free} bytes`);
      assert.ok(message.includes(dataDir), message);
      const drafts = (await readdir(dataDir)).filter((name) => /\.tmp$|\.new-|\.lock|\.json\.|\.conf\./.test(name));
      assert.deepEqual(drafts, [], `half-made files with ${free} bytes`);
    }
    await rm(join(disk, "ballast"));
    program = await startProgram({ dataDir, env });
    const email = { from: "a@example.test", to: ["b@example.test"], subject: "Hello", body: "It works." };
    assert.equal((await program.call("EmailService/SendEmail", email)).body.status, "EMAIL_STATUS_SENT");
    await leave(disk, 20 * 2 ** 20);
    const { code, stderr } = await runCommand(["backup", join(disk, "saved")], { dataDir, env });
    assert.equal(code, 1);
    assert.match(stderr, /^A copy needs \d+ MB, and the disk of \S+saved has 20 MB free\. Free some space, .*\.\n$/);
    assert.equal((await program.call("EmailService/SendEmail", email)).body.status, "EMAIL_STATUS_SENT");
    assert.deepEqual((await readdir(disk)).sort(), ["ballast", "data"]);
  } finally {
    await program?.stop();
    unmount(disk);
    await rm(disk, { recursive: true, force: true });
  }
});

/** Fills the disk with one file until only this much is free. */
async function leave(disk: string, free: number): Promise<void> {
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
