/** Moves of content between the database and object storage while the content is read, or gets another day. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/harness/database.ts";
import { makeWorkspace, newEmail } from "../../../test/harness/mail.ts";
import { createTestContents } from "../../../test/harness/object-contents.ts";
import { startObjectStore, type TestStore } from "../../../test/harness/object-store.ts";
import { until } from "../../../test/harness/wait.ts";
import { moveContent } from "../../app/move-content.ts";
import type { ContentStore } from "../../objects/content-store.ts";
import { listObjects } from "../../objects/store/objects.ts";
import { deleteUnused } from "../../objects/unused.ts";
import { recordOrigin } from "../../postgres/log-origin.ts";
import type { Sql } from "../../postgres/pool.ts";
import { moveToDatabase, moveToObjects } from "../move-content.ts";
import { readContents } from "./content.ts";
import { createEmailStore, type NewEmail } from "./emails.ts";
import { replaceByObject, replaceByPieces } from "./moves.ts";
import { objectsSince } from "./older-readers.ts";
import { type ContentGone, type LargePart, wholePart } from "./parts.ts";
import { getEmail } from "./reads.ts";
import { rescheduleEmail } from "./reschedule.ts";

let store: TestStore;
let database: TestDatabase;
let contents: ContentStore;
let workspaceId: string;
before(async () => {
  store = await startObjectStore();
});
beforeEach(async () => {
  database = await createTestDatabase();
  await recordOrigin(database.sql);
  contents = createTestContents(database.sql, store);
  workspaceId = await makeWorkspace(database.sql);
  for (const name of await store.names()) await contents.s3.delete(name);
});
afterEach(async () => {
  await contents?.stop();
  await database?.drop();
});
after(async () => await store?.stop());

const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs);
const file = randomBytes(700_000);
const uploaded = () => contents.put(workspaceId, { bytes: file.length, chunks: () => [file] });

async function accept(parts: NewEmail["parts"], extra: Partial<NewEmail> = {}): Promise<NewEmail> {
  const email = newEmail(workspaceId, ["a@there.test"], { scheduledAt: inDays(2), parts, ...extra });
  assert.deepEqual(await createEmailStore(database.sql).accept(email), { stored: true });
  return email;
}

async function partsOf({ id, envelope }: NewEmail) {
  const { contentDay: day } = (await getEmail(database.sql, workspaceId, id))!;
  const key = { workspaceId, emailId: id, day, isSubmitted: envelope.submitted !== undefined };
  return (await readContents(database.sql, [key], contents)).get(id)!;
}

const move = () => ({
  sql: database.sql,
  contents,
  signal: new AbortController().signal,
  patiently: <T>(work: () => Promise<T>) => work(),
  onMoved: () => {},
  onLost: () => {},
});

/** Runs `first` in a transaction, and commits it when `second` waits for its locks. */
async function whileOpen<T>(first: (tx: Sql) => Promise<unknown>, second: () => Promise<T>): Promise<T> {
  const { sql } = database;
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const open = sql.begin(async (tx) => {
    await first(tx);
    begun.resolve();
    await go.promise;
  });
  await Promise.race([begun.promise, open]);
  const waiting = second();
  waiting.catch(() => {});
  await until("a statement to wait for a lock", async () => {
    const rows = await sql`
      select 1 from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()`;
    return rows.length > 0;
  });
  go.resolve();
  await open;
  return await waiting;
}

test("a part that moves after it was listed is read from its new place, in every form", async () => {
  const json = JSON.stringify({ text: "\u00e4".repeat(60_000), html: "" });
  const message = `Subject: x\r\n\r\n${"\u00e4\u00ff".repeat(70_000)}`;
  const small = randomBytes(150_000);
  const submitted = { later: [], eightBit: true };
  const octets = await accept(["{}", { bytes: file }, { bytes: small }]);
  // As earlier releases stored them: text, of which each part has one piece.
  const texts = await accept([json, small.toString("base64")]);
  const sent = newEmail(workspaceId, ["a@there.test"], { scheduledAt: inDays(2), parts: [message] });
  const mail = { ...sent, envelope: { ...sent.envelope, submitted } };
  await createEmailStore(database.sql).accept(mail);
  const before = [await partsOf(octets), await partsOf(texts), await partsOf(mail)];
  await moveToObjects(move());
  assert.equal((await database.sql`select 1 from content_objects`).length, 5);
  const [[, large, second], [first, attached], [whole]] = before as [LargePart[], LargePart[], LargePart[]];
  assert.ok((await wholePart(large!)).equals(file));
  assert.ok((await wholePart(second!)).equals(small));
  assert.equal((await wholePart(first!)).toString(), json);
  assert.ok((await wholePart(attached!)).equals(small));
  assert.equal((await wholePart(whole!)).toString("latin1"), message);
});

test("an email that gets another day while its part moves to object storage keeps its content", async () => {
  const email = await accept(["{}", { bytes: file }]);
  const object = await uploaded();
  await whileOpen(
    (tx) => replaceByObject(tx, { workspaceId, emailId: email.id, part: 1 }, object),
    () => database.sql.begin((tx) => rescheduleEmail(tx, { workspaceId, id: email.id }, inDays(9))),
  );
  const parts = await partsOf(email);
  assert.equal(parts.length, 2);
  assert.ok((await wholePart(parts[1] as LargePart)).equals(file));
});

test("an email that gets another day while its part moves to the database keeps its content", async () => {
  const email = await accept(["{}", { bytes: file }]);
  const key = { workspaceId, emailId: email.id, part: 1 };
  await moveToObjects(move());
  const [object] = await listObjects(database.sql, { after: undefined, limit: 1 });
  const isMoved = await whileOpen(
    (tx) => rescheduleEmail(tx, { workspaceId, id: email.id }, inDays(9)),
    () => replaceByPieces(database.sql, { ...key, objectId: object!.id }, file),
  );
  assert.equal(isMoved, false);
  assert.ok((await wholePart((await partsOf(email))[1] as LargePart)).equals(file));
  await moveToDatabase(move(), [object!]);
  assert.equal((await database.sql`select 1 from content_objects`).length, 0);
  assert.ok((await wholePart((await partsOf(email))[1] as LargePart)).equals(file));
});

test("an object that was recorded as unused, although a row refers to it, is not deleted", async () => {
  const email = await accept(["{}", { bytes: file }]);
  await moveToObjects(move());
  await database.sql`insert into unused_objects (id, line) select id, line from content_objects`;
  assert.equal(await deleteUnused({ sql: database.sql, contents, afterMinutes: -1 }), 0);
  assert.ok((await wholePart((await partsOf(email))[1] as LargePart)).equals(file));
});

test("an object that the store no longer has does not keep the others from moving to the database", async () => {
  const [lost, kept] = [await accept(["{}", { bytes: file }]), await accept(["{}", { bytes: file }])];
  await moveToObjects(move());
  const objects = await listObjects(database.sql, { after: undefined, limit: 10 });
  await contents.delete(objects.filter(({ ownerId }) => ownerId === lost.id));
  const { sql } = database;
  const done = await moveContent({ sql, contents, to: "database", signal: new AbortController().signal });
  assert.deepEqual([done.moved, done.lost], [1, 1]);
  assert.ok((await wholePart((await partsOf(kept))[1] as LargePart)).equals(file));
  const part = (await partsOf(lost))[1] as LargePart;
  await assert.rejects(wholePart(part), (error: ContentGone) => /object .* is missing/.test(error.message));
  await sql`delete from email_contents where email_id = ${lost.id}`;
  await assert.rejects(wholePart(part), (error: ContentGone) => /retention period/.test(error.message));
});

test("a move goes on after the store was away, and otherwise ends with how to continue it", async () => {
  for (const _ of [1, 2]) await accept(["{}", { bytes: file }]);
  const states: (string | undefined)[] = [];
  const to = "objects" as const;
  const options = { sql: database.sql, contents, to, signal: new AbortController().signal };
  const run = (forMs: number) =>
    moveContent({
      ...options,
      patience: { forMs, pauseMs: 1 },
      onProgress: ({ waitsFor }) => states.push(waitsFor),
    });
  store.mode({ status: 503, code: "SlowDown" });
  const toContinue = /reports an error of its own.* 0 parts have moved.* posthorn content move --to objects again/;
  await assert.rejects(run(50), { name: "Problem", code: "unavailable", message: toContinue });
  store.mode({ status: 403, code: "AccessDenied" });
  await assert.rejects(run(60_000), { name: "Problem", message: /denies access/ });
  store.mode("serve");
  await contents.check();
  states.length = 0;
  store.onRequest(() => store.mode(states.length < 4 ? "refuse" : "serve"));
  const done = await run(60_000);
  store.onRequest(() => {});
  assert.equal(done.moved, 2);
  assert.deepEqual(new Set(states), new Set(["unreachable", undefined]));
});

test("nothing moves to the objects while a program of an earlier release could not read it", async () => {
  await accept(["{}", { bytes: file }]);
  const { sql } = database;
  await sql`insert into workers (host, pid, roles, version, schema_version, beat_at)
    values ('old-node', 77, '{}', '0.0.9', ${objectsSince - 1}, service_time())`;
  const run = () => moveContent({ sql, contents, to: "objects", signal: new AbortController().signal });
  await assert.rejects(run(), {
    name: "Problem",
    message: /release 0\.0\.9 runs on old-node \(process 77\).*Upgrade or stop it/,
  });
  assert.equal((await sql`select 1 from content_objects`).length, 0);
  await sql`update workers set beat_at = service_time() - interval '1 hour' where host = 'old-node'`;
  assert.equal((await run()).moved, 1);
});

test("a move that is stopped returns what it has moved", async () => {
  await accept(["{}", { bytes: file }]);
  const stop = new AbortController();
  store.onRequest(({ method }) => {
    if (method === "PUT") stop.abort();
  });
  const done = await moveContent({ sql: database.sql, contents, to: "objects", signal: stop.signal });
  store.onRequest(() => {});
  assert.equal(done.moved, 0);
});
