import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { contentOf, createTestContents } from "../../test/harness/object-contents.ts";
import { startObjectStore, type TestStore } from "../../test/harness/object-store.ts";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { makeUuid } from "../postgres/ids.ts";
import { cutLogs, recordOrigin } from "../postgres/log-origin.ts";
import type { ContentStore } from "./content-store.ts";
import { dayMs, objectName } from "./rules/name.ts";
import {
  dayOfId,
  forgetObjects,
  listObjectDays,
  listUnused,
  noteUnused,
  readSweep,
  takeTurn,
} from "./store/objects.ts";
import { sweep } from "./sweep.ts";
import { createUnusedLoop, deleteUnused } from "./unused.ts";

const workspaceId = "00000000-0000-7000-8000-00000000000a";
let database: TestDatabase;
let store: TestStore;
let contents: ContentStore;
/** The program's clock. */
let nowMs = Date.now();
before(async () => {
  database = await createTestDatabase();
  await recordOrigin(database.sql);
  store = await startObjectStore();
  contents = createTestContents(database.sql, store, () => nowMs);
});
beforeEach(async () => {
  nowMs = Date.now();
  store.ahead(0);
  await database.sql`delete from content_objects`;
  await database.sql`delete from unused_objects`;
  await database.sql`delete from settings where name like 'content_%' and name <> 'content_mark'`;
  for (const name of await store.names()) if (name.startsWith("objects/")) await contents.s3.delete(name);
});
after(async () => {
  await contents?.stop();
  await store?.stop();
  await database?.drop();
});

const put = () => contents.put(workspaceId, contentOf(Buffer.from("x")));
const objects = async () => (await store.names()).filter((name) => name.startsWith("objects/"));
const run = (pageSize = 2) => sweep({ sql: database.sql, contents, store: "test", nowMs: () => nowMs, pageSize });
const dayLater = () => {
  nowMs += dayMs + 60_000;
  store.ahead(dayMs + 60_000);
};

/** An object with its row. */
async function putUsed() {
  const ref = await put();
  const { sql } = database;
  await sql`
    insert into content_objects (workspace_id, owner_id, part, content, id, line, day, bytes, key_sealed)
    select ${workspaceId}, m.id, 0, 'inbound', ${ref.id}, ${ref.line}, ${dayOfId(sql, "m.id")}, ${ref.bytes}, ${ref.keySealed}
    from (select ${makeUuid(nowMs)}::uuid as id) m`;
  return ref;
}

test("objects without a row are deleted once they are older than a day by both clocks", async () => {
  const used = await putUsed();
  await Promise.all([put(), put(), put(), put()]);
  assert.deepEqual(await run(), { kind: "finished", seen: 5, deleted: 0 });
  nowMs += 2 * dayMs;
  assert.equal((await run()).deleted, 0, "the store's clock says that they are new");
  nowMs -= 2 * dayMs;
  store.ahead(2 * dayMs);
  assert.equal((await run()).deleted, 0, "the names say that they are new");
  dayLater();
  assert.deepEqual(await run(), { kind: "finished", seen: 5, deleted: 4 });
  assert.deepEqual(await objects(), [objectName(used)]);
});

test("foreign objects, objects of unknown lines and the mark stay", async () => {
  const ref = await put();
  const foreign = [`objects/ffffffffffff/${objectName(ref).split("/").slice(2).join("/")}`, "objects/notes.txt"];
  for (const name of foreign) await contents.s3.put(name, contentOf(Buffer.from("x")));
  dayLater();
  assert.equal((await run()).deleted, 1);
  assert.deepEqual(await objects(), foreign);
  assert.ok((await store.names()).includes("posthorn-mark.json"));
});

test("a sweep that was interrupted continues on its page", async () => {
  await Promise.all(Array.from({ length: 6 }, put));
  dayLater();
  const interrupted = new AbortController();
  const deps = { sql: database.sql, contents, store: "test", nowMs: () => nowMs, pageSize: 2 };
  const first = await sweep({ ...deps, signal: interrupted.signal, onPage: () => interrupted.abort() }).catch(
    () => undefined,
  );
  assert.notEqual(first?.kind, "finished");
  assert.equal((await run()).kind, "finished");
  assert.deepEqual(await objects(), []);
});

test("one sweep runs at a time, and none while the mark names another cut", async () => {
  await takeTurn(database.sql, { what: "sweep", owner: "another node", seconds: 60 });
  await put();
  dayLater();
  assert.equal((await run()).kind, "busy");
  await database.sql`delete from settings where name = 'content_turn_sweep'`;
  await cutLogs(database.sql);
  assert.equal((await run()).kind, "not allowed");
  assert.equal((await objects()).length, 1);
  await contents.standing.adopt();
  assert.equal((await run()).deleted, 1);
});

test("an object that the store refuses to delete is named with the store's answer, and the others are deleted", async () => {
  const { sql } = database;
  const kept = await put();
  await Promise.all([put(), put()]);
  const name = objectName(kept);
  const refusing = { message: `the object ${name} was not deleted: the object store answered 403 AccessDenied` };
  store.onRequest(({ path }) => store.mode(path === name ? { status: 403, code: "AccessDenied" } : "serve"));
  dayLater();
  await assert.rejects(run(1), refusing);
  assert.deepEqual(await objects(), [name]);
  assert.equal((await readSweep(sql)).isDue, false, "the sweep went on to its end");
  assert.ok((await contents.delete([kept])).failure);
  assert.equal(contents.problem(), undefined, "it serves");
  const others = await Promise.all([put(), put()]);
  await noteUnused(sql, [kept, ...others]);
  await assert.rejects(deleteUnused({ sql, contents, afterMinutes: -1 }), refusing);
  assert.deepEqual(await objects(), [name]);
  const left = await listUnused(sql, { afterMinutes: -1, limit: 10 });
  assert.deepEqual(left, [{ id: kept.id, line: kept.line }]);
  await sql`delete from settings where name = 'content_sweep'`;
  const deps = { sql, contents, log: silentLog(), store: "test", nowMs: () => nowMs };
  const loop = createUnusedLoop({ ...deps, afterMinutes: -1, everyMs: 5 });
  loop.start();
  await until("the sweep, which the refusal does not keep from its turn", async () => !(await readSweep(sql)).isDue);
  await loop.stop();
  store.onRequest(() => {});
  store.mode("serve");
});

test("a deleted row leaves its object to be deleted later, also when the store is away at first", async () => {
  const ref = await putUsed();
  const { sql } = database;
  const [day] = await listObjectDays(sql, "inbound");
  assert.equal(day, new Date(nowMs).toISOString().slice(0, 10));
  assert.equal(await forgetObjects(sql, { content: "inbound", day: day!, limit: 10 }), 1);
  assert.equal(await deleteUnused({ sql, contents }), 0, "a read that has begun may still need it");
  assert.deepEqual(await objects(), [objectName(ref)]);
  store.mode({ status: 503, code: "SlowDown" });
  await assert.rejects(deleteUnused({ sql, contents, afterMinutes: -1 }));
  assert.equal((await listUnused(sql, { afterMinutes: -1, limit: 10 })).length, 1);
  store.mode("serve");
  await contents.check();
  assert.equal(await deleteUnused({ sql, contents, afterMinutes: -1 }), 1);
  assert.deepEqual(await objects(), []);
  assert.deepEqual(await listUnused(sql, { afterMinutes: -1, limit: 10 }), []);
});
