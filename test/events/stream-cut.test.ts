/** A failover or a restore that loses the end of the event log: every reader that was further ahead gets an error with the last shared
 * cursor, resumes from it and misses nothing. Readers that were not affected notice nothing. On real servers: the standby is a copy of the primary. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type FailoverServer, startFailoverServer } from "../harness/failover.ts";
import { addEvents, numbers, type OpenStream, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

let postgres: FailoverServer;
let testbed: StreamTestbed;
before(async () => {
  postgres = await startFailoverServer();
  testbed = await startStreamTestbed({ POSTHORN_STREAM_HEARTBEAT_MS: "500" }, { server: postgres.server });
});
after(async () => {
  await testbed?.stop();
  await postgres?.stop();
});

const add = (count: number) => addEvents(testbed.database.sql, testbed.workspaceId, count);
/** Tries until the connections of the test have reached the new server. */
const addOnNewServer = (count: number) =>
  until("events on the new server", () =>
    add(count).then(
      () => true,
      () => false,
    ),
  );
const last = async () => Number((await testbed.table()).at(-1)?.number ?? 0);
const cursorsOf = (stream: OpenStream) => stream.events().map(({ cursor }) => cursor);

async function openUntil(cursor: string, request: Record<string, unknown> = {}): Promise<OpenStream> {
  const stream = await testbed.open({ cursor: "0", ...request });
  await stream.until(`cursor ${cursor}`, ({ messages }) => messages.at(-1)?.cursor === cursor);
  return stream;
}

async function latest() {
  return (await list({ cursor: "latest" })).body as { nextCursor: string; nextEventId: string };
}

/** Calls ListEvents once the program has reached the new server. */
async function list(request: Record<string, unknown>) {
  return await until("an answer from the new server", async () => {
    const answer = await testbed.program.call("EmailService/ListEvents", request);
    return answer.status === 503 ? undefined : answer;
  });
}

test("after a failover that lost events, live streams end with the last shared cursor, and resuming misses nothing", async () => {
  await add(60);
  const shared = await last();
  await postgres.replicate();
  const behind = await openUntil(String(shared));
  behind.leave();
  await add(40);
  const lost = await last();
  const live = await openUntil(String(lost));
  const filtered = await openUntil(String(lost), { types: ["email.bounced"] });

  await postgres.failOver();
  // As many new events as were lost, and more: their numbers were used before.
  await addOnNewServer(100);
  const newest = await last();
  assert.ok(newest > lost);

  for (const stream of [live, filtered]) {
    const end = await stream.ended;
    assert.equal(end.code, "out_of_range");
    assert.match(end.message, new RegExp(`Resume from cursor ${shared};`));
  }
  assert.deepEqual(cursorsOf(live), numbers(1, lost), "no event of the new log before the error");

  const [, cut] = /-(.*)/.exec((await latest()).nextCursor)!;
  const named = (from: number, to: number) => numbers(from, to).map((number) => `${number}-${cut}`);
  const resumed = await testbed.read({ cursor: String(shared), follow: false });
  assert.deepEqual(
    resumed.events.map(({ cursor }) => cursor),
    named(shared + 1, newest),
  );

  // A reader that had read only shared events continues without an error.
  const continued = await testbed.read({ cursor: behind.messages.at(-1)!.cursor, follow: false });
  assert.deepEqual([continued.end.code, continued.events.length], ["ok", newest - shared]);
  // The old cursors beyond the cut stay invalid, although their numbers exist again.
  for (const cursor of [String(shared + 1), String(lost), `${lost}-${shared}zzzzzz`]) {
    const { status, body } = await list({ cursor });
    assert.deepEqual([status, body.code], [400, "out_of_range"], cursor);
    assert.match(String(body.message), new RegExp(`Resume from cursor ${shared};`));
  }
  // A new cursor works, with its number of any age in the current log.
  for (const cursor of [`${newest}-${cut}`, `${shared + 3}-${cut}`, `${shared}-${cut}`, String(shared)])
    assert.equal((await list({ cursor })).status, 200, cursor);
});

test("streams that start, and pages, use the cursors of the new log in every form", async () => {
  const newest = await last();
  const { nextCursor, nextEventId } = await latest();
  assert.match(nextCursor, new RegExp(`^${newest}-`));
  for (const form of ["lines", "sse", "connect"] as const) {
    const { messages, events } = await testbed.read({ cursor: "0", follow: false }, { form });
    assert.equal(messages.at(-1)?.cursor, nextCursor, form);
    assert.equal(events.length, newest, form);
    assert.equal(events.at(-1)?.event.id, nextEventId);
  }
  const headers = { "last-event-id": nextCursor };
  const reconnected = await testbed.read({ follow: false }, { form: "sse", headers });
  assert.deepEqual([reconnected.end.code, reconnected.events.length], ["ok", 0]);
  await add(1);
  const live = await openUntil((await latest()).nextCursor);
  live.leave();
});

test("a second failover cuts the log again, and readers of both older logs get their own last shared cursor", async () => {
  const [first] = (await cuts()) as [string];
  const shared = await last();
  await postgres.replicate();
  await add(5);
  await postgres.failOver();
  await addOnNewServer(10);
  const [, second] = (await cuts()) as [string, string];
  assert.ok(second.startsWith(String(shared)));
  const resume = async (cursor: string) => {
    const { body } = await list({ cursor });
    return /Resume from cursor (\S+);/.exec(String(body.message))?.[1];
  };
  assert.equal(await resume(`${shared + 2}-${first}`), `${shared}-${first}`);
  assert.equal(await resume(String(shared + 2)), /^\d+/.exec(first)![0], "a reader of the first log");
  assert.equal(await resume(`${shared}-${first}`), undefined);
});

test("a restored disk leaves no trace, and afterEventId detects it", async () => {
  const shared = await last();
  const known = await cuts();
  await postgres.replicate();
  await add(20);
  const { nextCursor, nextEventId } = await latest();
  await postgres.restoreDisk();
  await addOnNewServer(30);
  assert.deepEqual(await cuts(), known, "no cut is recorded");
  assert.equal((await list({ cursor: nextCursor })).status, 200, "the cursor alone does not show the loss");
  const { body } = await list({ cursor: nextCursor, afterEventId: nextEventId });
  assert.equal(body.code, "out_of_range");
  const resume = Number(/Resume from cursor (\d+)/.exec(String(body.message))![1]);
  assert.ok(resume <= shared, `resumes at ${resume}, the logs share ${shared}`);
  const [row] = await testbed.database.sql<{ id: string }[]>`
    select 'evt_' || id as id from events where workspace_id = ${testbed.workspaceId} and number = ${shared}`;
  const cursor = `${shared}-${known.at(-1)}`;
  assert.equal((await list({ cursor, afterEventId: row!.id })).status, 200, "a reader before the loss");
});

test("open streams notice a restored disk by the events that they have sent, and the cut is recorded", async () => {
  const shared = await last();
  const [before] = (await cuts()).slice(-1);
  await postgres.replicate();
  const stream = await openUntil(`${shared}-${before}`);
  await add(20);
  await stream.until("the lost events", ({ messages }) => messages.at(-1)?.cursor === `${shared + 20}-${before}`);
  await postgres.restoreDisk();
  await addOnNewServer(30);
  const end = await stream.ended;
  assert.equal(end.code, "out_of_range", end.message);
  assert.match(end.message, new RegExp(`Resume from cursor ${shared}-${before};`));
  assert.match((await cuts()).at(-1)!, new RegExp(`^${shared}[a-z]{6}$`));
  const resumed = await testbed.read({ cursor: `${shared}-${before}`, follow: false });
  assert.deepEqual([resumed.end.code, resumed.events.length], ["ok", 30]);
});

test("a log that was restored to a time before its cut bounds what is shared by its end and by afterEventId", async () => {
  const newest = await last();
  const { nextEventId } = await latest();
  const unknown = `${newest + 100}-${newest + 50}zzzzzz`;
  const cut = await list({ cursor: unknown, afterEventId: nextEventId });
  assert.equal(cut.body.code, "out_of_range");
  const [, resume] = /Resume from cursor (\d+)/.exec(String(cut.body.message))!;
  assert.ok(Number(resume) < newest, `resumes at ${resume} of ${newest}`);
  const [, capped] = /Resume from cursor (\d+)/.exec(String((await list({ cursor: unknown })).body.message))!;
  assert.ok(Number(capped) <= newest);
});

test("numbers that no log has are out of range, also with afterEventId and in the name of a cut", async () => {
  const { nextEventId } = await latest();
  for (const request of [
    { cursor: "9".repeat(30), afterEventId: nextEventId },
    { cursor: "9".repeat(30) },
    { cursor: `${"9".repeat(20)}-${"9".repeat(19)}zzzz` },
    { cursor: `${"9".repeat(20)}-${"9".repeat(19)}zzzz`, afterEventId: nextEventId },
  ]) {
    const { status, body } = await list(request);
    assert.deepEqual([status, body.code], [400, "out_of_range"], JSON.stringify(request));
  }
});

async function cuts(): Promise<string[]> {
  const [row] = await testbed.database.sql<{ cuts: string[] }[]>`
    select cuts from event_counters where workspace_id = ${testbed.workspaceId}`;
  return row!.cuts;
}
