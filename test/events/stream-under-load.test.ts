/** Three readers disconnect at random under load, while the program and its PostgreSQL are killed. Each reader sees the log numbered
 * 1 to n, without missing or repeating an event. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { newDataDir, type RunningProgram, startProgram } from "../harness/program.ts";
import { startReader, startWriter } from "../harness/stream-readers.ts";
import { numbers, readStream } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const rounds = 2;
let program: RunningProgram;
const running: { stop(): Promise<void> }[] = [];
after(async () => {
  await program?.remove();
  await Promise.all(running.map((one) => one.stop()));
});

test("the events of all connections of a reader together are the log", async () => {
  const dataDir = await newDataDir();
  program = await startProgram({ dataDir });
  const { key: fullKey } = program;
  const createdKey = await program.call("KeyService/CreateKey", {
    name: "load",
    permission: "KEY_PERMISSION_FULL",
    test: true,
  });
  const target = { url: () => program.url, key: createdKey.body.secret as string };

  const writers = Array.from({ length: 3 }, () => startWriter(target));
  const readers = Array.from({ length: 3 }, () => startReader(target, { messages: 40 }));
  running.push(...writers, ...readers);
  const wrong = () => [...writers, ...readers].flatMap((one) => one.wrong);
  const moreSeen = async (when: string) => {
    const before = readers.map(({ seen }) => seen.length);
    const enough = () => wrong().length > 0 || readers.every(({ seen }, i) => seen.length >= before[i]! + 40);
    await until(`all readers to see more ${when}`, enough);
    assert.deepEqual(wrong(), []);
  };

  await moreSeen("at the start");
  for (let round = 0; round < rounds; round++) {
    await program.kill();
    program = await startProgram({ dataDir });
    await moreSeen(`after kill ${round} of the program`);
    process.kill(
      Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n", 1)[0]),
      "SIGKILL",
    );
    await moreSeen(`after kill ${round} of PostgreSQL`);
  }
  await Promise.all(writers.map((writer) => writer.stop()));
  const accepted = writers.reduce((sum, writer) => sum + writer.accepted(), 0);
  const readLog = async () => {
    const { events, end } = await readStream(program.url, { key: fullKey, request: { follow: false } });
    return end.code === "ok" ? events : [];
  };
  const known = await until(
    "every accepted email to have its event",
    async () => {
      const events = await readLog();
      const emails = new Set(events.map(({ event }) => event.emailId).filter((id) => id !== ""));
      return emails.size >= accepted ? events.length : undefined;
    },
    { everyMs: 200 },
  );
  await until("the readers to reach the tail", () => readers.every(({ seen }) => seen.length >= known));
  await Promise.all(readers.map((reader) => reader.stop()));
  // An email whose response was lost in a kill may get its event later, so the log is read after the readers stop.
  const log = await until("the log", async () => {
    const events = await readLog();
    return readers.every(({ seen }) => seen.length <= events.length) ? events : undefined;
  });

  const table = log.map(({ cursor, event }) => ({ number: cursor, id: event.id }));
  assert.deepEqual(
    table.map(({ number }) => number),
    numbers(1, table.length),
  );
  for (const { seen, connections } of readers) {
    assert.deepEqual(seen, table.slice(0, seen.length));
    assert.ok(connections() > rounds * 2, `only ${connections()} connections: the reader did not reconnect`);
  }
  assert.deepEqual(wrong(), []);
});
