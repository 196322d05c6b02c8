/** Content in object storage that is lost, or moves, while it is exported. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { createTestContents } from "../../test/harness/object-contents.ts";
import { startObjectStore, type TestStore } from "../../test/harness/object-store.ts";
import { moveToObjects } from "../emails/move-content.ts";
import { createEmailStore, type NewEmail } from "../emails/store/emails.ts";
import type { ContentStore } from "../objects/content-store.ts";
import { listObjects } from "../objects/store/objects.ts";
import { recordOrigin } from "../postgres/log-origin.ts";
import { exportAll } from "./export.ts";
import { type EmailRow, writeEmailContent } from "./export-content.ts";
import { openExportFolder } from "./export-folder.ts";

let store: TestStore;
let database: TestDatabase;
let contents: ContentStore;
let folders: string;
before(async () => {
  store = await startObjectStore();
  database = await createTestDatabase();
  await recordOrigin(database.sql);
  contents = createTestContents(database.sql, store);
  folders = await mkdtemp(join(tmpdir(), "posthorn-export-"));
});
after(async () => {
  await contents?.stop();
  await database?.drop();
  await store?.stop();
  await rm(folders, { recursive: true, force: true });
});

/** More pieces than a page of the export has. */
const file = randomBytes(3_000_000);

async function accept(workspaceId: string): Promise<NewEmail> {
  const given = newEmail(workspaceId, ["a@there.test"], { parts: ["{}", { bytes: file }] });
  const attachments = [{ filename: "film.bin", contentType: "", sizeBytes: file.length }];
  const email = { ...given, envelope: { ...given.envelope, attachments } };
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  return email;
}

const move = () =>
  moveToObjects({
    sql: database.sql,
    contents,
    signal: new AbortController().signal,
    patiently: (work) => work(),
    onMoved: () => {},
    onLost: () => {},
  });

test("an attachment that moves to object storage while it is exported is exported as a whole", async () => {
  const { sql } = database;
  const { id, workspaceId, envelope } = await accept(await makeWorkspace(sql));
  const [{ day }] = await sql<[{ day: string }]>`select content_day::text as day from emails where id = ${id}`;
  const path = join(folders, "moves");
  const folder = await openExportFolder(path, { subject: "ws", startedAt: "" });
  let hasMoved = false;
  async function* moving(pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      yield piece;
      if (!hasMoved) await move();
      hasMoved = true;
    }
  }
  const slow = {
    ...folder,
    writeContent: (at: string, all: AsyncIterable<Buffer>) => folder.writeContent(at, moving(all)),
  };
  const row = { workspace_id: workspaceId, id, content_day: day, envelope } as EmailRow;
  const [written, ...others] = await writeEmailContent({ sql, contents }, slow, row);
  await folder.close();
  assert.deepEqual([written!.bytes, others.length, hasMoved], [file.length, 0, true]);
  assert.ok((await readFile(join(path, written!.path))).equals(file));
});

test("an email whose object is lost is named, and the export goes on", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const [lost, kept] = [await accept(workspaceId), await accept(workspaceId)];
  await move();
  const objects = await listObjects(sql, { after: undefined, limit: 10 });
  await contents.delete(objects.filter(({ ownerId }) => ownerId === lost.id));
  const path = join(folders, "lost");
  const subject = { kind: "workspace", id: workspaceId } as const;
  assert.ok(await exportAll(sql, { subject, path, contents, nowMs: () => 0 }));
  assert.match(await readFile(join(path, "left-out.jsonl"), "utf8"), new RegExp(`em_${lost.id}.*object storage`));
  const listed = await readFile(join(path, "files.jsonl"), "utf8");
  assert.ok(listed.includes(kept.id) && !listed.includes(lost.id));
});
