import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { allOf, contentOf, createTestContents } from "../../test/harness/object-contents.ts";
import { startObjectStore, type TestStore } from "../../test/harness/object-store.ts";
import { cutLogs, recordOrigin } from "../postgres/log-origin.ts";
import { createStanding } from "./mark.ts";
import { objectName } from "./rules/name.ts";
import type { StoreError } from "./store-error.ts";

const workspaceId = "00000000-0000-7000-8000-00000000000a";
const wrongMark = (error: StoreError) => error.kind === "wrongMark";
let one: TestDatabase;
let two: TestDatabase;
let store: TestStore;
before(async () => {
  [one, two] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  store = await startObjectStore();
  await recordOrigin(one.sql);
});
beforeEach(async () => {
  await Promise.all(
    [one, two].map(({ sql }) => sql`delete from settings where name in ('instance_id', 'content_mark', 'last_cut')`),
  );
  for (const name of await store.names()) await store.s3().delete(name);
});
after(async () => {
  await store?.stop();
  await Promise.all([one?.drop(), two?.drop()]);
});

test("the first program writes the mark, and others of the same database accept it", async () => {
  const contents = createTestContents(one.sql, store);
  await contents.put(workspaceId, contentOf(Buffer.from("x")));
  const next = createTestContents(one.sql, store);
  assert.equal((await next.standing.check()).standing, "ours");
  assert.equal((await store.names()).filter((name) => name === "posthorn-mark.json").length, 1);
});

test("a second instance may not use the prefix, until it adopts it", async () => {
  await createTestContents(one.sql, store).check();
  const second = createTestContents(two.sql, store);
  await assert.rejects(second.put(workspaceId, contentOf(Buffer.from("x"))), wrongMark);
  assert.equal((await second.check())?.kind, "wrongMark");
  await second.standing.adopt();
  assert.equal((await second.check())?.kind, undefined);
  await second.put(workspaceId, contentOf(Buffer.from("x")));
  await assert.rejects(createTestContents(one.sql, store).put(workspaceId, contentOf(Buffer.from("x"))), wrongMark);
});

test("after a cut of the logs, objects are read and written in a new line, and none is deleted until the store is adopted", async () => {
  const contents = createTestContents(one.sql, store);
  const before = await contents.put(workspaceId, contentOf(Buffer.from("before")));
  await cutLogs(one.sql);
  const restored = createTestContents(one.sql, store);
  const since = await restored.put(workspaceId, contentOf(Buffer.from("since")));
  assert.notEqual(since.line, before.line);
  assert.equal(String(await allOf(restored.read(workspaceId, before))), "before");
  assert.equal((await restored.delete([before, since])).isAllowed, false);
  assert.equal((await store.names()).filter((name) => name.startsWith("objects/")).length, 2);
  await restored.standing.adopt();
  assert.equal((await restored.delete([before])).gone.length, 1);
  assert.deepEqual(await store.names(), [objectName(since), "posthorn-mark.json"]);
});

test("a check during which the database gets another state does not keep what it read before", async () => {
  const contents = createTestContents(one.sql, store);
  const { line } = await contents.standing.check();
  let isFirst = true;
  const s3 = {
    ...contents.s3,
    async find(name: string) {
      const mark = await contents.s3.find(name);
      if (isFirst) {
        isFirst = false;
        await cutLogs(one.sql);
        one.sql.health.noteServer({ origin: "promoted", isCut: true });
      }
      return mark;
    },
  };
  const checked = await createStanding({ s3, sql: one.sql }).requireUse();
  assert.equal(checked.standing, "copy");
  assert.notEqual(checked.line, line);
});

test("a mark that disappears, or is damaged, stops writing and deleting", async () => {
  const contents = createTestContents(one.sql, store);
  const ref = await contents.put(workspaceId, contentOf(Buffer.from("x")));
  await store.s3().delete("posthorn-mark.json");
  await assert.rejects(contents.delete([ref]), wrongMark);
  await assert.rejects(createTestContents(one.sql, store).put(workspaceId, contentOf(Buffer.from("x"))), wrongMark);
  const other = createTestContents(one.sql, store);
  await store.s3().put("posthorn-mark.json", contentOf(Buffer.from("not a mark")));
  await assert.rejects(other.delete([ref]), wrongMark);
  await other.standing.adopt();
  await other.check();
  assert.equal((await other.delete([ref])).gone.length, 1);
});
