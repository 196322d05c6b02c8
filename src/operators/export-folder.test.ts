import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openExportFolder } from "./export-folder.ts";

let parent: string;
before(async () => {
  parent = await mkdtemp(join(tmpdir(), "posthorn-folder-"));
});
after(async () => await rm(parent, { recursive: true, force: true }));

const subject = { subject: "ws_1", startedAt: "2026-01-01T00:00:00.000Z" };

test("what was written after the last checkpoint is cut off and written again", async () => {
  const path = join(parent, "cut");
  const first = await openExportFolder(path, subject);
  await first.append("emails.jsonl", ["1", "2"]);
  first.file("emails.jsonl").position = ["2"];
  await first.checkpoint({ now: true });
  await first.append("emails.jsonl", ["3"]);
  await first.close();
  const second = await openExportFolder(path, { ...subject, startedAt: "later" });
  assert.equal(second.isResumed, true);
  assert.equal(second.state.startedAt, subject.startedAt);
  assert.deepEqual(second.file("emails.jsonl"), { rows: 2, bytes: 4, position: ["2"], isComplete: false });
  await second.append("emails.jsonl", ["4"]);
  await second.complete({});
  await second.close();
  assert.equal(await readFile(join(path, "emails.jsonl"), "utf8"), "1\n2\n4\n");
  await assert.rejects(openExportFolder(path, subject), /has a complete export already/);
});

test("a folder of something else is refused and left as it is", async () => {
  const path = join(parent, "other");
  await (await openExportFolder(path, subject)).close();
  await assert.rejects(openExportFolder(path, { ...subject, subject: "ws_2" }), /unfinished export of ws_1/);
  await writeFile(join(path, "export-state.json"), JSON.stringify({ subject: "ws_1", format: 99, files: {} }));
  await assert.rejects(openExportFolder(path, subject), /another version of Posthorn/);
  await writeFile(join(path, "export-state.json"), "{");
  await assert.rejects(openExportFolder(path, subject), /cannot be read/);
  await assert.rejects(openExportFolder(parent, subject), /is not empty/);
  await mkdir(join(parent, "target"));
  await chmod(join(parent, "target"), 0o777);
  await assert.rejects(openExportFolder(join(parent, "target"), subject), /Other accounts can write to/);
  await symlink(join(parent, "target"), join(parent, "link"));
  await assert.rejects(openExportFolder(join(parent, "link"), subject), /is a link or belongs to another account/);
});

test("only one process writes, and the lock of an ended process does not count", async () => {
  const path = join(parent, "locked");
  await (await openExportFolder(path, subject)).close();
  // The parent of this process runs.
  await writeFile(join(path, "export-lock"), String(process.ppid));
  await assert.rejects(openExportFolder(path, subject), /is writing an export/);
  await writeFile(join(path, "export-lock"), "999999999");
  const folder = await openExportFolder(path, subject);
  await folder.close();
  assert.equal((await stat(path)).mode & 0o777, 0o700);
});
