/** Two nodes on one database, both written to and both read from at once: every reader of either sees the same log, 1, 2, 3 … n. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startReader, startWriter } from "../harness/stream-readers.ts";
import { numbers, type StreamWorld, startStreamWorld } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const wanted = 150;
let world: StreamWorld;
before(async () => {
  world = await startStreamWorld();
});
const running: { stop(): Promise<void> }[] = [];
after(async () => {
  await world?.stop();
  await Promise.all(running.map((one) => one.stop()));
});

test("readers of two nodes, some of whom move between them, see the table", async () => {
  const urls = [world.program.url, (await world.startNode()).url];
  const made = await world.program.call("KeyService/CreateKey", {
    ...{ name: "load", permission: "KEY_PERMISSION_FULL", test: true },
  });
  const key = made.body.secret as string;
  let turn = 0;
  const targets = [...urls.map((url) => ({ url: () => url, key })), { url: () => urls[turn++ % 2]!, key }];
  const writers = targets.map(startWriter);
  // The last one goes on at the other node each time it comes back.
  const readers = targets.map((target) => startReader(target, { messages: 40 }));
  running.push(...writers, ...readers);
  await until("both nodes to have written", () => writers.every((writer) => writer.accepted() >= wanted / 3));
  await Promise.all(writers.map((writer) => writer.stop()));
  const accepted = writers.reduce((sum, writer) => sum + writer.accepted(), 0);
  const settled = async () =>
    (
      await world.database.sql<{ emails: number }[]>`
      select count(distinct email_id)::int as emails from events where email_id is not null`
    )[0]!.emails;
  await until("all to be settled", async () => (await settled()) >= accepted);

  const table = (await world.table()).map(({ number, id }) => ({ number, id }));
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
