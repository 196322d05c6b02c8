/** The client against the real program whose database fails over and loses events: the stream resumes by itself and misses nothing. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type FailoverServer, startFailoverServer } from "../../test/harness/failover.ts";
import { addEvents, type StreamTestbed, startStreamTestbed } from "../../test/harness/streams.ts";
import { until } from "../../test/harness/wait.ts";
import { Posthorn } from "../src/index.ts";

let postgres: FailoverServer;
let testbed: StreamTestbed;
before(async () => {
  postgres = await startFailoverServer();
  testbed = await startStreamTestbed({}, { server: postgres.server });
});
after(async () => {
  await testbed?.stop();
  await postgres?.stop();
});

test("a stream calls onLogReset after a failover that lost events, and yields every event of the new log", async () => {
  const { program, workspaceId } = testbed;
  const { sql } = testbed.database;
  const posthorn = new Posthorn({ apiKey: program.key, baseUrl: program.url });
  await addEvents(sql, workspaceId, 20);
  const shared = (await testbed.table()).length;
  await postgres.replicate();
  await addEvents(sql, workspaceId, 10);
  const lost = (await testbed.table()).length;

  const seen: string[] = [];
  const resets: string[] = [];
  const stop = new AbortController();
  const reading = posthorn.events.listen({
    signal: stop.signal,
    cursor: "0",
    onEvent: (event) => void seen.push(event.id),
    onError: () => {},
    onLogReset: ({ cursor, lastSharedCursor }) => void resets.push(`${cursor} ${lastSharedCursor}`),
  });
  await until("the stream to read the log", () => seen.length === lost);
  await postgres.failOver();
  await until("events on the new server", () =>
    addEvents(sql, workspaceId, 25).then(
      () => true,
      () => false,
    ),
  );
  const newLog = (await testbed.table()).map(({ id }) => id).slice(shared);
  await until("the stream to read the new log", () => seen.at(-1) === newLog.at(-1));
  stop.abort();
  await reading;
  assert.deepEqual(seen.slice(lost), newLog);
  assert.deepEqual(resets, [`${lost} ${shared}`]);
  assert.equal(new Set(seen).size, seen.length, "no event twice");
});
