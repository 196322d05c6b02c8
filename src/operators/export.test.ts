/** An export that is stopped and continued: the result is complete, and what lies on the disk meanwhile contains no secret. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../test/harness/mail.ts";
import { createEmailStore } from "../emails/store/emails.ts";
import { addLink, addPerson } from "../people/store.ts";
import { makeUuid } from "../postgres/ids.ts";
import { exportAll } from "./export.ts";

let database: TestDatabase;
let folder: string;
before(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "posthorn-export-"));
});
after(async () => {
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

test("an unfinished export has no secret on the disk, wherever it stops, and loses no row", {
  timeout: 60_000,
}, async () => {
  const { sql } = database;
  const email = "ann@there.test";
  const { id } = (await addPerson(sql, { email, name: "Ann", passwordHash: "a secret password", nowMs: Date.now() }))!;
  for (const n of [1, 2, 3]) {
    await addLink(sql, { token: `token ${n}`, kind: n === 1 ? "reset" : "sign_up", email, forMs: 60_000 });
    await sql`insert into people_recovery_codes (person_id, code_hash) values (${id}, ${`a secret code ${n}`})`;
    await sql`insert into people_sign_ins (token_hash, person_id, signed_in_by, service_expires_at)
      values (${`a secret sign-in ${n}`}, ${id}, 'password', service_time())`;
    await sql`insert into people_sessions (id, person_id, token, expires_at)
      values (${makeUuid(Date.now())}, ${id}, ${`a secret session ${n}`}, service_time())`;
  }
  const links = await sql<{ hash: string }[]>`select token_hash as hash from people_links`;
  const secrets = ["a secret", ...links.map(({ hash }) => hash)];
  const path = join(folder, "stopped");
  const rowsIn: Record<string, number> = {};
  for (let runs = 1; ; runs++) {
    assert.ok(runs < 200, "the export makes no progress");
    // Each run stops after one page of one row.
    const stop = new AbortController();
    const options = { subject: { kind: "person", id, email }, path, nowMs: () => 0, pageRows: 1 } as const;
    const done = await exportAll(sql, { ...options, stop: stop.signal, onProgress: () => stop.abort() });
    for (const file of await readdir(path)) {
      assert.equal((await stat(join(path, file))).mode & 0o777, 0o600, file);
      const text = await readFile(join(path, file), "utf8");
      for (const secret of secrets) assert.ok(!text.includes(secret), `${file} has a secret: ${text}`);
    }
    if (!done) continue;
    for (const { file, rows } of done.manifest.files) rowsIn[file] = rows;
    break;
  }
  for (const file of ["people-recovery-codes", "people-sign-ins", "people-sessions", "people-links"])
    assert.equal(rowsIn[`${file}.jsonl`], file === "people-links" ? links.length : 3, file);
});

test("a stop or a kill loses the content of one email, not of a page", { timeout: 60_000 }, async () => {
  const { sql } = database;
  const id = await makeWorkspace(sql);
  for (let n = 0; n < 3; n++)
    assert.deepEqual(await createEmailStore(sql).accept(newEmail(id, ["a@there.test"])), { stored: true });
  const path = join(folder, "content");
  const stop = new AbortController();
  const onProgress = (text: string) => {
    if (text === "emails.jsonl: 1 rows") stop.abort();
  };
  const options = { subject: { kind: "workspace", id }, path, nowMs: () => 0, onProgress } as const;
  assert.equal(await exportAll(sql, { ...options, stop: stop.signal }), undefined);
  const { files } = JSON.parse(await readFile(join(path, "export-state.json"), "utf8"));
  assert.deepEqual([files["emails.jsonl"].rows, files["files.jsonl"].rows], [1, 1]);
  const { manifest } = (await exportAll(sql, options))!;
  for (const file of ["emails.jsonl", "files.jsonl", "recipients.jsonl"])
    assert.equal(manifest.files.find((one) => one.file === file)?.rows, 3, file);
});

test("a message that was submitted over SMTP is exported as it is stored", { timeout: 60_000 }, async () => {
  const { sql } = database;
  const id = await makeWorkspace(sql);
  const raw = "From: news@sender.test\r\nSubject: Hi\r\n\r\n\xfcber";
  const plain = newEmail(id, ["a@there.test"]);
  const envelope = { ...plain.envelope, submitted: { later: [], eightBit: true } };
  assert.deepEqual(await createEmailStore(sql).accept({ ...plain, envelope, parts: [raw] }), { stored: true });
  const path = join(folder, "submitted");
  const { manifest } = (await exportAll(sql, { subject: { kind: "workspace", id }, path, nowMs: () => 0 }))!;
  assert.equal(manifest.files.find(({ file }) => file === "files.jsonl")?.rows, 1);
  const line = JSON.parse(await readFile(join(path, "files.jsonl"), "utf8")) as { path: string };
  assert.match(line.path, /^emails\/.*\/message\.eml$/);
  assert.equal(await readFile(join(path, line.path), "latin1"), raw);
});
