import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/harness/database.ts";
import { makeUuid } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { createLoopShare } from "../shares/loop-share.ts";
import { createWorkspace } from "../workspaces/store.ts";
import { createCatchUp } from "./catch-up.ts";
import type { EncodedPage } from "./page.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(async () => await database?.drop());

const messageBytes = 1000;
const messages = 200;
const page = (): EncodedPage => ({
  bytes: Buffer.alloc(messageBytes * messages),
  offsets: Array.from({ length: messages + 1 }, (_, i) => i * messageBytes),
});

function start(sql: Sql = database.sql) {
  return createCatchUp({ sql, loop: createLoopShare(), heap: { note() {} } });
}

test("a stream holds the rest of a page, without a copy", () => {
  const shared = page();
  const piece = start().hold("a", shared, 150);
  assert.deepEqual([piece.bytes.length, piece.end], [50 * messageBytes, messages]);
  assert.equal(piece.bytes.buffer, shared.bytes.buffer);
});

test("streams whose clients do not read hold a bounded number of bytes per workspace", () => {
  const catchUp = start();
  const pieces = Array.from({ length: 500 }, () => catchUp.hold("a", page(), 0));
  const held = new Set(pieces.map(({ bytes }) => bytes.buffer));
  const bytes = [...held].reduce((sum, buffer) => sum + buffer.byteLength, 0);
  assert.ok(bytes <= 16 * 1024 * 1024 + 500 * 16 * 1024, `${bytes} bytes`);
  // A stream above the limit still makes progress, message by message and never in the middle of one.
  const small = pieces.at(-1)!;
  assert.deepEqual([small.end, small.bytes.length], [16, 16 * messageBytes]);
  // Another workspace is not affected, and a page that is held already costs nothing.
  assert.equal(catchUp.hold("b", page(), 0).end, messages);
  for (const piece of pieces) piece.release();
  assert.equal(catchUp.hold("a", page(), 0).end, messages);
});

test("a page counts once, however many streams hold it", () => {
  const catchUp = start();
  const shared = page();
  const pieces = Array.from({ length: 1000 }, () => catchUp.hold("a", shared, 0));
  assert.ok(pieces.every(({ end }) => end === messages));
  for (const piece of pieces) piece.release();
});

test("a message larger than a piece is sent in one piece", () => {
  const catchUp = start();
  const large = (): EncodedPage => ({ bytes: Buffer.alloc(10_000_000), offsets: [0, 5_000_000, 10_000_000] });
  catchUp.hold("a", large(), 0);
  assert.deepEqual(catchUp.hold("a", large(), 0).end, 1);
});

test("streams that open at the same time share a statement, and one that opens later gets a new one", async () => {
  const { sql } = database;
  const workspaceId = makeUuid(Date.now());
  await createWorkspace(sql, { id: workspaceId, name: "A" });
  let statements = 0;
  const counting = ((strings: TemplateStringsArray, ...values: unknown[]) => {
    statements += 1;
    return sql(strings, ...values);
  }) as Sql;
  const catchUp = start(counting);
  const together = await Promise.all(Array.from({ length: 50 }, () => catchUp.bounds(workspaceId)));
  assert.equal(statements, 1);
  assert.ok(together.every(({ oldest, last }) => oldest === 1n && last === 0n));
  await sql`update event_counters set last = 7 where workspace_id = ${workspaceId}`;
  assert.equal((await catchUp.bounds(workspaceId)).last, 7n);
  assert.equal(statements, 2);
});
