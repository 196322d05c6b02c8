import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { allOf, contentOf, createTestContents } from "../../test/harness/object-contents.ts";
import { startObjectStore, type TestStore } from "../../test/harness/object-store.ts";
import { until } from "../../test/harness/wait.ts";
import type { ContentStore } from "./content-store.ts";
import { objectName } from "./rules/name.ts";
import { ObjectLost, type StoreError } from "./store-error.ts";

const workspaceId = "00000000-0000-7000-8000-00000000000a";
let database: TestDatabase;
let store: TestStore;
let contents: ContentStore;
before(async () => {
  database = await createTestDatabase();
  store = await startObjectStore();
  contents = createTestContents(database.sql, store);
});
afterEach(async () => {
  store.mode("serve");
  store.onRequest(() => {});
  await contents.check();
});
after(async () => {
  await contents?.stop();
  await store?.stop();
  await database?.drop();
});

test("content is put and read back, whole and in ranges, and its object does not contain it", async () => {
  const bytes = Buffer.concat([Buffer.from("a text that must not be readable in the store"), randomBytes(1_500_000)]);
  const ref = await contents.put(workspaceId, contentOf(bytes));
  assert.deepEqual(await allOf(contents.read(workspaceId, ref)), bytes);
  for (const range of [
    { start: 0, end: 10 },
    { start: 65_530, end: 65_540 },
    { start: 700_000, end: 1_300_001 },
    { start: bytes.length - 1, end: bytes.length },
  ])
    assert.deepEqual(await allOf(contents.readRange(workspaceId, ref, range)), bytes.subarray(range.start, range.end));
  await store.replace(objectName(ref), (object) => {
    assert.ok(!object.includes("must not be readable"));
    return object;
  });
});

test("an object that was exchanged, damaged or deleted is lost, not read", async () => {
  const [one, two] = await Promise.all(
    [1, 2].map((n) => contents.put(workspaceId, contentOf(Buffer.alloc(100_000, n)))),
  );
  let other: Buffer;
  await store.replace(objectName(two!), (object) => (other = object));
  await store.replace(objectName(one!), () => other);
  await assert.rejects(allOf(contents.read(workspaceId, one!)), ObjectLost);
  await contents.delete([two!]);
  await assert.rejects(allOf(contents.read(workspaceId, two!)), ObjectLost);
});

test("a sealed key opens only for its own object", async () => {
  const [one, two] = await Promise.all([1, 2].map((n) => contents.put(workspaceId, contentOf(Buffer.alloc(10, n)))));
  await assert.rejects(allOf(contents.read(workspaceId, { ...one!, keySealed: two!.keySealed })));
});

test("while the store is away, calls fail at once with the reason, and it recovers by itself", async () => {
  const ref = await contents.put(workspaceId, contentOf(Buffer.from("x")));
  store.mode({ status: 503, code: "SlowDown" });
  await assert.rejects(
    contents.put(workspaceId, contentOf(Buffer.from("y"))),
    (error: StoreError) => error.kind === "busy",
  );
  assert.equal(contents.problem()?.kind, "busy");
  const asked = store.requests.length;
  await assert.rejects(allOf(contents.read(workspaceId, ref)), (error: StoreError) => error.kind === "busy");
  await assert.rejects(
    contents.put(workspaceId, contentOf(Buffer.from("y"))),
    (error: StoreError) => error.kind === "busy",
  );
  assert.equal(store.requests.length, asked, "the store was asked again");
  assert.ok(contents.failures().get("failing")! > 0);
  store.mode("serve");
  const { sql } = database;
  const watching = createTestContents(sql, store);
  await watching.check();
  await contents.check();
  assert.equal(contents.problem(), undefined);
  assert.equal(String(await allOf(contents.read(workspaceId, ref))), "x");
  await watching.stop();
});

test("an upload that the store refuses does not stop other uploads, reads and deletions", async () => {
  const ref = await contents.put(workspaceId, contentOf(Buffer.from("x")));
  for (const [status, code, kind] of [
    [507, "XMinioStorageFull", "full"],
    [413, "", "rejected"],
  ] as const) {
    store.onRequest(({ method }) => store.mode(method === "PUT" ? { status, code } : "serve"));
    await assert.rejects(
      contents.put(workspaceId, contentOf(Buffer.from("y"))),
      (error: StoreError) => error.kind === kind,
    );
    assert.equal(contents.problem()?.kind, kind);
    assert.equal(String(await allOf(contents.read(workspaceId, ref))), "x");
    store.onRequest(() => {});
    store.mode("serve");
    const other = await contents.put(workspaceId, contentOf(Buffer.from("z")));
    assert.deepEqual((await contents.delete([other])).gone, [other]);
  }
});

test("a workspace that floods the store leaves room for others", async () => {
  const other = "00000000-0000-7000-8000-00000000000b";
  const { promise: open, resolve: release } = Promise.withResolvers<void>();
  let held = 0;
  let passed = false;
  store.onRequest(async ({ method }) => {
    if (method !== "PUT" || passed) return;
    held++;
    await open;
  });
  const flood = Array.from({ length: 40 }, () => contents.put(workspaceId, contentOf(Buffer.from("flood"))));
  await until("the flood to fill its share", () => held >= 9);
  passed = true;
  const ref = await contents.put(other, contentOf(Buffer.from("small")));
  assert.equal(String(await allOf(contents.read(other, ref))), "small");
  assert.equal(held, 9);
  release();
  await Promise.all(flood);
});

test("a caller that gives up ends its upload", async () => {
  store.mode("hang");
  await assert.rejects(contents.put(workspaceId, contentOf(Buffer.from("x")), AbortSignal.timeout(20)), {
    name: "TimeoutError",
  });
});
