/** A stream resumes from any cursor with nothing missing and nothing twice; a cursor outside of what is kept is refused with the bounds. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { partitionAt, partitioned } from "../../src/store/partitions.ts";
import { dropOldPartitions } from "../../src/store/retention.ts";
import { addEvents, numbers, type StreamWorld, startStreamWorld } from "../harness/streams.ts";

const dayMs = 86_400_000;
let world: StreamWorld;
let total: number;
before(async () => {
  world = await startStreamWorld();
  // More than a page of the store, and more than a node keeps in memory.
  await addEvents(world.database.sql, world.workspaceId, 700);
  total = (await world.table()).length;
});
after(async () => await world?.stop());

const cursorsOf = (events: { cursor: string }[]) => events.map(({ cursor }) => cursor);

test("from any cursor the rest follows, in order, in every form", async () => {
  const table = await world.table();
  for (const [i, from] of [0, 1, 2, 199, 200, 201, 400, total - 1, total].entries()) {
    const form = (["lines", "sse", "connect"] as const)[i % 3]!;
    const { messages, events, end } = await world.read({ cursor: String(from), follow: false }, { form });
    assert.equal(end.code, "ok");
    assert.deepEqual(messages[0], { cursor: String(from) });
    assert.deepEqual(
      events.map(({ cursor, event }) => [cursor, event.id]),
      table.slice(from).map(({ number, id }) => [number, id]),
      `after ${from}, ${form}`,
    );
  }
  const { events } = await world.read({ follow: false });
  assert.deepEqual(cursorsOf(events), numbers(1, total), "an empty cursor is the beginning");
});

test("a reader of server-sent events that comes back with Last-Event-ID goes on from there", async () => {
  const options = { form: "sse", headers: { "last-event-id": String(total - 2) } } as const;
  const { events } = await world.read({ cursor: "0", follow: false }, options);
  assert.deepEqual(cursorsOf(events), numbers(total - 1, total));
  const { end } = await world.read({}, { form: "sse", headers: { "last-event-id": "nonsense" } });
  assert.equal(end.code, "invalid_argument");
});

test("latest shows only what happens from now on", async () => {
  const stream = await world.open({ cursor: "latest" });
  await stream.until("the first message", ({ messages }) => messages.length > 0);
  assert.deepEqual(stream.messages, [{ cursor: String(total) }]);
  await world.send("delivered");
  await stream.until("the new event", ({ messages }) => messages.length > 1);
  stream.leave();
  assert.deepEqual(cursorsOf(stream.messages), [String(total), String(total + 1)]);
  assert.equal(stream.events()[0]!.event.type, "email.delivered");
  total++;
  const { messages } = await world.read({ cursor: "latest", follow: false });
  assert.deepEqual(messages, [{ cursor: String(total) }]);
});

test("a stream that does not follow ends at the tail it found, though more comes", async () => {
  const many = 300;
  let adding: Promise<void> | undefined;
  const { events, end } = await world.read(
    { cursor: "0", follow: false },
    { onMessage: () => (adding ??= addEvents(world.database.sql, world.workspaceId, many)) },
  );
  await adding;
  assert.equal(end.code, "ok");
  assert.deepEqual(cursorsOf(events), numbers(1, total));
  total += many;
});

test("a cursor past the tail, or none at all, is refused with the unary status", async () => {
  for (const form of ["lines", "sse"] as const) {
    for (const cursor of [String(total + 1), "9".repeat(30)]) {
      const { end } = await world.read({ cursor }, { form });
      assert.deepEqual([end.code, end.status], ["out_of_range", 400], cursor.slice(0, 20));
      assert.match(end.message, new RegExp(`the oldest event is 1, the newest ${total}\\.`));
    }
    for (const cursor of ["-1", "1.5", "abc", "1e3", " 1"]) {
      const { end } = await world.read({ cursor }, { form });
      assert.deepEqual([end.code, end.status], ["invalid_argument", 400], cursor);
    }
  }
});

test("past the time that events are kept, old cursors are out of range, and 0 starts with the oldest kept", async () => {
  const { sql } = world.database;
  const gone = 100;
  const span = partitioned.events.days * dayMs;
  const { name, from, to } = partitionAt("events", Math.floor((Date.now() - 120 * dayMs) / span) * span);
  await sql.unsafe(`create table ${name} partition of events for values from ('${from}') to ('${to}')`);
  await sql`update events set created_at = ${from}::timestamptz where workspace_id = ${world.workspaceId} and number <= ${gone}`;
  assert.deepEqual(await dropOldPartitions(sql, { contentDays: 30, historyDays: 90 }), [name]);

  for (const cursor of ["1", String(gone - 1)]) {
    const { end } = await world.read({ cursor, follow: false });
    assert.equal(end.code, "out_of_range");
    assert.match(end.message, new RegExp(`the oldest event is ${gone + 1}, the newest ${total}\\.`));
  }
  for (const cursor of ["0", "", String(gone)]) {
    const { messages, events } = await world.read({ cursor, follow: false });
    assert.deepEqual(messages[0], { cursor: String(gone) });
    assert.deepEqual(cursorsOf(events), numbers(gone + 1, total));
  }
});
