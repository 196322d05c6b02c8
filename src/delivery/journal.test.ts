import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLog } from "../ops/log.ts";
import { openJournal, readJournals } from "./journal.ts";

const row = (position: number) => ({
  lease: "4294967297",
  workspaceId: "00000000-0000-4000-8000-000000000001",
  emailId: "00000000-0000-4000-8000-000000000002",
  position,
});

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-dots-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const open = (folder: string, options: { bootId?: string; fileBytes?: number } = {}) =>
  openJournal({ folder, log: silentLog(), bootId: "boot-1", ...options });

test("a successor reads the workers and the dots that were not settled, and more", (t) => {
  const folder = newFolder(t);
  const journal = open(folder);
  journal.cover(1);
  journal.cover(1);
  journal.cover(2);
  journal.sent([row(0), row(1)]);
  const left = readJournals(folder, { bootId: "boot-1" });
  assert.deepEqual(left.workers, [1, 2]);
  assert.deepEqual(left.dots, [row(0), row(1)]);
});

test("a file whose dots are all settled is deleted once another one is in use", (t) => {
  const folder = newFolder(t);
  const journal = open(folder, { fileBytes: 1 });
  const rows = [row(0), row(1), row(2)];
  journal.cover(1);
  for (const one of rows) journal.sent([one]);
  assert.equal(readJournals(folder, { bootId: "boot-1" }).dots.length, 3);
  journal.settled(rows.slice(0, 2));
  const left = readJournals(folder, { bootId: "boot-1" });
  assert.deepEqual(left.dots, [row(2)]);
  assert.deepEqual([...new Set(left.workers)], [1], "every file names the workers that it covers");
});

test("a torn last line was not followed by a dot", (t) => {
  const folder = newFolder(t);
  const journal = open(folder);
  journal.cover(1);
  journal.sent([row(0)]);
  const [path] = readJournals(folder, { bootId: "boot-1" }).paths;
  appendFileSync(path!, "dot 4294967297 0000");
  assert.deepEqual(readJournals(folder, { bootId: "boot-1" }).dots, [row(0)]);
});

test("a process does not read its own files, nor those of a process that still runs", (t) => {
  const folder = newFolder(t);
  const journal = open(folder);
  journal.cover(1);
  assert.deepEqual(journal.readLeft().workers, []);
  const [name] = readdirSync(folder);
  renameSync(join(folder, name!), join(folder, `${process.ppid}-0-0.dots`));
  assert.deepEqual(readJournals(folder, { bootId: "boot-1" }).workers, []);
});

test("files of an earlier boot of the machine may be incomplete, so they are deleted", (t) => {
  const folder = newFolder(t);
  open(folder).cover(1);
  assert.deepEqual(readJournals(folder, { bootId: "boot-2" }), { paths: [], workers: [], dots: [] });
  assert.deepEqual(readdirSync(folder), []);
});

test("without a boot id or a writable folder nothing is journaled, and delivery goes on", (t) => {
  const folder = newFolder(t);
  const unknown = openJournal({ folder, log: silentLog(), bootId: undefined });
  unknown.cover(1);
  unknown.sent([row(0)]);
  assert.deepEqual(readdirSync(folder), []);
  appendFileSync(join(folder, "file"), "");
  const blocked = open(join(folder, "file", "folder"));
  blocked.cover(1);
  blocked.sent([row(0)]);
  blocked.settled([row(0)]);
});
