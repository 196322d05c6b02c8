import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { readMigrations } from "../../postgres/migrate.ts";
import { partitionAt } from "../../postgres/partitions.ts";
import { registerWorker } from "../../postgres/workers.ts";
import { storeBatch } from "./batches.ts";
import { readContents } from "./content.ts";
import { createEmailStore, type Envelope } from "./emails.ts";
import {
  attachmentPart,
  ContentGone,
  type LargePart,
  largeFromBytes,
  largePartsSince,
  messagePart,
  textsPart,
  wholePart,
} from "./parts.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database.drop());

const today = () => new Date().toISOString().slice(0, 10);
const bytesOf = (part: LargePart | string) => (typeof part === "string" ? part : wholePart(part));

async function readOne(workspaceId: string, emailId: string, isSubmitted = false) {
  const key = { workspaceId, emailId, day: today(), isSubmitted };
  return (await readContents(database.sql, [key])).get(emailId)!;
}

test("only parts above the limit are large, counted in octets before base64", () => {
  const attachment = (bytes: number) =>
    attachmentPart({ base64: Buffer.alloc(bytes, 7).toString("base64"), sizeBytes: bytes });
  assert.equal(typeof attachment(largeFromBytes), "string");
  assert.deepEqual(attachment(largeFromBytes + 1), { bytes: Buffer.alloc(largeFromBytes + 1, 7) });
  const overhead = JSON.stringify({ text: "", html: "" }).length;
  assert.equal(typeof textsPart({ text: "x".repeat(largeFromBytes - overhead), html: "" }), "string");
  assert.equal(typeof textsPart({ text: "\u00e4".repeat((largeFromBytes - overhead) / 2), html: "" }), "string");
  assert.equal(typeof textsPart({ text: "\u00e4".repeat((largeFromBytes - overhead) / 2 + 1), html: "" }), "object");
  assert.equal(messagePart(Buffer.from([0xe4])), "\u00e4");
  assert.equal(typeof messagePart(Buffer.alloc(largeFromBytes + 1)), "object");
});

test("large parts of one email and of a batch are read back unchanged, again at each call, in pieces of 256 KiB", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const sizes = [largeFromBytes + 1, 256 * 1024, 256 * 1024 + 1, 3_000_000];
  const files = sizes.map((size) => randomBytes(size));
  const make = () =>
    newEmail(workspaceId, ["a@there.test"], { parts: ["{}", "QUJD", ...files.map((bytes) => ({ bytes }))] });
  const single = make();
  const small = newEmail(workspaceId, ["a@there.test"], { parts: ["{}", { bytes: files[0]! }] });
  const batch = [make(), newEmail(workspaceId, ["b@there.test"], { parts: ["{}"] }), make()];
  await createEmailStore(sql).accept(single);
  await createEmailStore(sql).accept(small);
  await storeBatch(sql, { workspaceId, emails: batch, answer: [], idempotency: undefined });
  assert.deepEqual(await readOne(workspaceId, batch[1]!.id), ["{}"]);
  assert.deepEqual(await bytesOf((await readOne(workspaceId, small.id))[1]!), files[0]);
  for (const { id } of [single, batch[0]!, batch[2]!]) {
    const [texts, little, ...large] = await readOne(workspaceId, id);
    assert.deepEqual([texts, little], ["{}", "QUJD"]);
    for (const [i, part] of (large as LargePart[]).entries()) {
      assert.equal(part.bytes, sizes[i]);
      const pieces: Buffer[] = [];
      for await (const piece of part.read()) pieces.push(piece);
      assert.ok(pieces.every(({ length }) => length <= 256 * 1024));
      assert.ok(Buffer.concat(pieces).equals(files[i]!));
      assert.ok((await wholePart(part)).equals(files[i]!));
    }
  }
});

test("large texts of earlier releases are read in pieces as the octets that they stand for", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const submitted: Envelope["submitted"] = { later: [], eightBit: true };
  const json = JSON.stringify({ text: "\u00e4\u{1f600}".repeat(200_000), html: "" });
  const message = `Subject: x\r\n\r\n${"\u00e4\u00ff".repeat(300_000)}`;
  for (const size of [599_997, 599_998, 599_999]) {
    const file = randomBytes(size);
    const texts = newEmail(workspaceId, ["a@there.test"], { parts: [json, file.toString("base64")] });
    await createEmailStore(sql).accept(texts);
    const [first, second] = (await readOne(workspaceId, texts.id)) as LargePart[];
    assert.equal((await wholePart(first!)).toString(), json);
    assert.equal(second!.bytes, size);
    assert.ok((await wholePart(second!)).equals(file));
  }
  const plain = newEmail(workspaceId, ["a@there.test"], { parts: [message] });
  const sent = { ...plain, envelope: { ...plain.envelope, submitted } };
  await createEmailStore(sql).accept(sent);
  const [part] = (await readOne(workspaceId, sent.id, true)) as LargePart[];
  assert.equal((await wholePart(part!)).toString("latin1"), message);
});

test("while a program of an earlier release is alive, parts are stored as text", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const file = randomBytes(100_000);
  const message = Buffer.from(`Subject: x\r\n\r\n${"\u00e4".repeat(100_000)}`, "latin1");
  const worker = { host: "old", pid: 1, roles: ["deliver"], version: "0", schemaVersion: 48 };
  await registerWorker(sql, worker);
  const plain = newEmail(workspaceId, ["a@there.test"], { parts: ["{}", { bytes: file }] });
  const other = newEmail(workspaceId, ["a@there.test"], { parts: [{ bytes: message }] });
  const sent = { ...other, envelope: { ...other.envelope, submitted: { later: [], eightBit: true } } };
  await createEmailStore(sql).accept(plain);
  await storeBatch(sql, { workspaceId, emails: [sent], answer: [], idempotency: undefined });
  await sql`delete from workers where host = 'old'`;
  const stored = async (id: string) =>
    (
      await sql<{ data: string; bytes: Buffer | null }[]>`
    select data, bytes from email_contents where email_id = ${id} order by part desc, piece`
    )[0];
  assert.deepEqual(await stored(plain.id), { data: file.toString("base64"), bytes: null });
  assert.deepEqual(await stored(sent.id), { data: message.toString("latin1"), bytes: null });
});

test("large parts belong to the version of the schema that has a column for them", async () => {
  const { name } = (await readMigrations())[largePartsSince - 1]!;
  assert.match(name, /large_parts/);
});

test("content that is deleted while it is read ends the read with ContentGone", async () => {
  const { sql } = database;
  const workspaceId = await makeWorkspace(sql);
  const inDays = new Date(Date.now() + 9 * 86_400_000);
  const email = newEmail(workspaceId, ["a@there.test"], {
    scheduledAt: inDays,
    parts: ["{}", { bytes: randomBytes(2_000_000) }, "A".repeat(1_000_000)],
  });
  await createEmailStore(sql).accept(email);
  const day = inDays.toISOString().slice(0, 10);
  const parts = (await readContents(sql, [{ workspaceId, emailId: email.id, day }])).get(email.id)!;
  const reads = parts.slice(1).map((part) => (part as LargePart).read()[Symbol.asyncIterator]());
  for (const read of reads) assert.equal((await read.next()).done, false);
  await sql`delete from email_contents where email_id = ${email.id} and piece > 2`;
  for (const read of reads)
    await assert.rejects(async () => {
      while (!(await read.next()).done);
    }, ContentGone);
  await sql.unsafe(`drop table ${partitionAt("email_contents", inDays.getTime()).name}`);
  for (const part of parts.slice(1)) await assert.rejects(wholePart(part as LargePart), ContentGone);
  const abort = AbortSignal.abort(new Error("stopped"));
  await assert.rejects(wholePart(parts[1] as LargePart, abort), /stopped/);
});
