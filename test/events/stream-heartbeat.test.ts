/** A stream sends its cursor immediately, even for an empty log, and as a heartbeat while it is idle. A deadline ends it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runCommand } from "../harness/program.ts";
import { type StreamForm, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { createKey } from "../harness/workspaces.ts";

let testbed: StreamTestbed;
/** The key of a workspace without events. */
let emptyKey: string;
before(async () => {
  testbed = await startStreamTestbed({ POSTHORN_STREAM_HEARTBEAT_MS: "150" });
  const run = async (...args: string[]) =>
    (await runCommand(args, { dataDir: testbed.program.dataDir, databaseUrl: testbed.database.url })).stdout.trim();
  await run("workspaces", "create", "Quiet");
  emptyKey = await run("keys", "create", "--workspace", "Quiet");
});
after(async () => await testbed?.stop());

const forms: StreamForm[] = ["lines", "sse", "connect"];

test("a stream of an empty log sends its cursor immediately, and then heartbeats", async () => {
  for (const form of forms) {
    const stream = await testbed.open({}, { form, key: emptyKey });
    assert.equal(stream.status, 200);
    await stream.until("three heartbeats", ({ messages }) => messages.length >= 4);
    stream.leave();
    assert.ok(stream.messages.every((message) => message.cursor === "0" && !("event" in message)));
  }
});

test("a heartbeat carries the cursor of the last event", async () => {
  const stream = await testbed.open({ cursor: "latest" });
  await testbed.send("delivered");
  await stream.until("a heartbeat after the event", ({ messages }) => {
    const at = messages.findIndex(({ event }) => event);
    return at >= 0 && messages.length > at + 1;
  });
  stream.leave();
  const [event] = stream.events();
  assert.equal(stream.messages.at(-1)!.cursor, event!.cursor);
});

test("a deadline ends the stream with deadline_exceeded, after the messages before it", async () => {
  const key = (await createKey(testbed.program, { permission: "READ" })).secret;
  for (const form of forms) {
    const { messages, end } = await testbed.read({}, { form, key, headers: { "connect-timeout-ms": "600" } });
    assert.equal(end.code, "deadline_exceeded");
    assert.match(end.message, /Resume from the last cursor/);
    assert.ok(messages.length > 0);
  }
});
