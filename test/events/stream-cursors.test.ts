/** A stream resumes from any cursor without missing or repeating an event. A cursor outside the kept range is rejected with the bounds. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { partitionAt, partitioned } from "../../src/postgres/partitions.ts";
import { dropOldPartitions } from "../../src/postgres/retention.ts";
import { addEvents, numbers, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";

const dayMs = 86_400_000;
let testbed: StreamTestbed;
let total: number;
before(async () => {
  testbed = await startStreamTestbed();
  // More than one page of the store, and more than a node caches in memory.
  await addEvents(testbed.database.sql, testbed.workspaceId, 700);
  total = (await testbed.table()).length;
});
after(async () => await testbed?.stop());

const cursorsOf = (events: { cursor: string }[]) => events.map(({ cursor }) => cursor);

test("from any cursor, a stream returns the rest of the log in order, in every form", async () => {
  const table = await testbed.table();
  for (const [i, from] of [0, 1, 2, 199, 200, 201, 400, total - 1, total].entries()) {
    const form = (["lines", "sse", "connect"] as const)[i % 3]!;
    const { messages, events, end } = await testbed.read({ cursor: String(from), follow: false }, { form });
    assert.equal(end.code, "ok");
    assert.deepEqual(messages[0], { cursor: String(from) });
    assert.deepEqual(
      events.map(({ cursor, event }) => [cursor, event.id]),
      table.slice(from).map(({ number, id }) => [number, id]),
      `after ${from}, ${form}`,
    );
  }
  const { events } = await testbed.read({ follow: false });
  assert.deepEqual(cursorsOf(events), numbers(1, total), "an empty cursor starts at the beginning");
});

test("a reader of server-sent events that reconnects with Last-Event-ID resumes from there", async () => {
  const options = { form: "sse", headers: { "last-event-id": String(total - 2) } } as const;
  const { events } = await testbed.read({ cursor: "0", follow: false }, options);
  assert.deepEqual(cursorsOf(events), numbers(total - 1, total));
  const { end } = await testbed.read({}, { form: "sse", headers: { "last-event-id": "nonsense" } });
  assert.equal(end.code, "invalid_argument");
});

test("the cursor latest returns only new events", async () => {
  const stream = await testbed.open({ cursor: "latest" });
  await stream.until("the first message", ({ messages }) => messages.length > 0);
  assert.deepEqual(stream.messages, [{ cursor: String(total) }]);
  await testbed.send("delivered");
  await stream.until("the new event", ({ messages }) => messages.length > 1);
  stream.leave();
  assert.deepEqual(cursorsOf(stream.messages), [String(total), String(total + 1)]);
  assert.equal(stream.events()[0]!.event.type, "email.delivered");
  total++;
  const { messages } = await testbed.read({ cursor: "latest", follow: false });
  assert.deepEqual(messages, [{ cursor: String(total) }]);
});

test("a stream without follow ends at the tail of the log at its start, even if new events arrive", async () => {
  const added = 300;
  let adding: Promise<void> | undefined;
  const { events, end } = await testbed.read(
    { cursor: "0", follow: false },
    { onMessage: () => (adding ??= addEvents(testbed.database.sql, testbed.workspaceId, added)) },
  );
  await adding;
  assert.equal(end.code, "ok");
  assert.deepEqual(cursorsOf(events), numbers(1, total));
  total += added;
});

test("a cursor past the tail or an invalid one is rejected with the status of a unary call", async () => {
  for (const form of ["lines", "sse"] as const) {
    for (const cursor of [String(total + 1), "9".repeat(30)]) {
      const { end } = await testbed.read({ cursor }, { form });
      assert.deepEqual([end.code, end.status], ["out_of_range", 400], cursor.slice(0, 20));
      assert.match(end.message, new RegExp(`the oldest event is 1, the newest ${total}\\.`));
    }
    for (const cursor of ["-1", "1.5", "abc", "1e3", " 1"]) {
      const { end } = await testbed.read({ cursor }, { form });
      assert.deepEqual([end.code, end.status], ["invalid_argument", 400], cursor);
    }
  }
});

test("cursors of expired events are out of range, and cursor 0 starts with the oldest kept event", async () => {
  const { sql } = testbed.database;
  const expired = 100;
  const span = partitioned.events.days * dayMs;
  const { name, from, to } = partitionAt("events", Math.floor((Date.now() - 120 * dayMs) / span) * span);
  await sql.unsafe(`create table ${name} partition of events for values from ('${from}') to ('${to}')`);
  await sql`insert into closed_partitions (name, closed_at) values (${name}, ${to}::timestamptz)`;
  await sql`update events set created_at = ${from}::timestamptz where workspace_id = ${testbed.workspaceId} and number <= ${expired}`;
  assert.deepEqual(await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 }), [name]);

  for (const cursor of ["1", String(expired - 1)]) {
    const { end } = await testbed.read({ cursor, follow: false });
    assert.equal(end.code, "out_of_range");
    assert.match(end.message, new RegExp(`the oldest event is ${expired + 1}, the newest ${total}\\.`));
  }
  for (const cursor of ["0", "", String(expired)]) {
    const { messages, events } = await testbed.read({ cursor, follow: false });
    assert.deepEqual(messages[0], { cursor: String(expired) });
    assert.deepEqual(cursorsOf(events), numbers(expired + 1, total));
  }
});
