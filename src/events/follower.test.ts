import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../test/harness/database.ts";
import { makeWorkspace } from "../../test/harness/mail.ts";
import { createHeapRelief } from "../ops/heap-relief.ts";
import { silentLog } from "../ops/log.ts";
import { createWake } from "../postgres/wake.ts";
import { createLoopShare } from "../shares/loop-share.ts";
import { createCatchUp } from "./catch-up.ts";
import { createFollower, createTail } from "./follower.ts";
import type { StoredEvent } from "./store.ts";

const event = (number: number, payload: Record<string, unknown> = {}): StoredEvent => ({
  number: String(number),
  id: "",
  type: "domain.updated",
  emailId: null,
  messageId: null,
  metadata: {},
  payload,
  createdAt: new Date(0),
});
const numbersOf = (events: readonly StoredEvent[] | undefined) => events?.map(({ number }) => Number(number));

test("the tail returns the events after a number, or undefined when some of them are no longer in memory", () => {
  const tail = createTail(10n);
  assert.deepEqual(numbersOf(tail.after(10n)), []);
  assert.equal(tail.after(9n), undefined);
  for (const number of [11, 12, 13]) assert.equal(tail.add(event(number)), true);
  assert.equal(tail.head(), 13n);
  assert.deepEqual(numbersOf(tail.after(10n)), [11, 12, 13]);
  assert.deepEqual(numbersOf(tail.after(12n)), [13]);
  assert.deepEqual(numbersOf(tail.after(13n)), []);
  assert.deepEqual(numbersOf(tail.after(20n)), [], "a reader that is ahead of this node");
  assert.equal(tail.after(9n), undefined);
});

test("the tail adds no event twice", () => {
  const tail = createTail(0n);
  for (const number of [1, 2, 1, 2, 3, 2]) tail.add(event(number));
  assert.deepEqual(numbersOf(tail.after(0n)), [1, 2, 3]);
});

test("the tail drops the events before a gap", () => {
  const tail = createTail(0n);
  for (const number of [1, 2, 7, 8]) tail.add(event(number));
  assert.equal(tail.after(2n), undefined);
  assert.deepEqual(numbersOf(tail.after(6n)), [7, 8]);
});

test("the tail is limited by count and by size", () => {
  const many = createTail(0n);
  for (let number = 1; number <= 2000; number++) many.add(event(number));
  assert.equal(many.after(2000n - 513n), undefined);
  assert.equal(many.after(2000n - 512n)?.length, 512);

  const large = createTail(0n);
  const body = "x".repeat(300_000);
  for (let number = 1; number <= 10; number++) large.add(event(number, { body }));
  assert.equal(large.after(6n), undefined);
  assert.deepEqual(numbersOf(large.after(7n)), [8, 9, 10]);
  large.add(event(11, { body: "x".repeat(2_000_000) }));
  assert.equal(large.after(10n), undefined, "an event larger than the limit is read from the store");
  assert.deepEqual(numbersOf(large.after(11n)), []);
  assert.equal(large.head(), 11n);
});

test("one workspace leaves streams to the others, and closed streams are given back once", async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const { sql } = database;
  const log = silentLog();
  const catchUp = createCatchUp({ sql, loop: createLoopShare(), heap: createHeapRelief() });
  const wake = createWake({ sql, log });
  const follower = createFollower({ sql, log, wake, catchUp, limits: { total: 4, factor: 1 } });
  const [flood, calm] = [await makeWorkspace(sql), await makeWorkspace(sql)];
  const open = await Promise.all([1, 2].map(() => follower.subscribe(flood, undefined)));
  await assert.rejects(follower.subscribe(flood, undefined), { code: "resource_exhausted", retryAfterMs: 5_000 });
  const other = await follower.subscribe(calm, undefined);
  other.close();
  open[0]!.close();
  open[0]!.close();
  const again = await follower.subscribe(flood, undefined);
  await assert.rejects(follower.subscribe(flood, undefined), { code: "resource_exhausted" });
  for (const stream of [...open, again]) stream.close();
  assert.equal(follower.size(), 0);
});
