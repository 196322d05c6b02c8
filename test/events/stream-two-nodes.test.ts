/** Two nodes on one database with writers and readers on both: every reader sees the same log, numbered 1 to n. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReader, startWriter } from "../harness/stream-readers.ts";
import { numbers, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const minimumEmails = 150;
let testbed: StreamTestbed;
before(async () => {
  testbed = await startStreamTestbed();
});
const running: { stop(): Promise<void> }[] = [];
after(async () => {
  await testbed?.stop();
  await Promise.all(running.map((one) => one.stop()));
});

test("readers of two nodes, including one that alternates between them, see the whole log", async () => {
  const urls = [testbed.program.url, (await testbed.startNode()).url];
  const createdKey = await testbed.program.call("KeyService/CreateKey", {
    name: "load",
    permission: "KEY_PERMISSION_FULL",
    test: true,
  });
  const key = createdKey.body.secret as string;
  let turn = 0;
  const targets = [...urls.map((url) => ({ url: () => url, key })), { url: () => urls[turn++ % 2]!, key }];
  const writers = targets.map(startWriter);
  // The last reader alternates between the nodes each time it reconnects.
  const readers = targets.map((target) => startReader(target, { messages: 40 }));
  running.push(...writers, ...readers);
  await until("both nodes to have written", () => writers.every((writer) => writer.accepted() >= minimumEmails / 3));
  await Promise.all(writers.map((writer) => writer.stop()));
  const accepted = writers.reduce((sum, writer) => sum + writer.accepted(), 0);
  const settled = async () =>
    (
      await testbed.database.sql<{ emails: number }[]>`
      select count(distinct email_id)::int as emails from events where email_id is not null`
    )[0]!.emails;
  await until("all emails to be settled", async () => (await settled()) >= accepted);

  const table = (await testbed.table()).map(({ number, id }) => ({ number, id }));
  assert.deepEqual(
    table.map(({ number }) => number),
    numbers(1, table.length),
  );
  await until("the readers to reach the tail", () => readers.every(({ seen }) => seen.length >= table.length));
  await Promise.all(readers.map((reader) => reader.stop()));
  for (const { seen, wrong } of readers) {
    assert.deepEqual(seen, table);
    assert.deepEqual(wrong, []);
  }
  for (const { wrong } of writers) assert.deepEqual(wrong, []);
});
