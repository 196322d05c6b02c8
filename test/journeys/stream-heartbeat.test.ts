/** The first message comes at once, on an empty log too, and silence is broken by the cursor; a deadline ends the stream in its own words. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runCommand } from "../harness/program.ts";
import { type StreamForm, type StreamWorld, startStreamWorld } from "../harness/streams.ts";
import { createKey } from "../harness/workspaces.ts";

let world: StreamWorld;
/** A workspace where nothing has ever happened. */
let empty: string;
before(async () => {
  world = await startStreamWorld({ POSTHORN_STREAM_HEARTBEAT_MS: "150" });
  const run = async (...args: string[]) =>
    (await runCommand(args, { dataDir: world.program.dataDir, databaseUrl: world.database.url })).stdout.trim();
  await run("workspaces", "create", "Quiet");
  empty = await run("keys", "create", "--workspace", "Quiet");
});
after(async () => await world?.stop());

const forms: StreamForm[] = ["lines", "sse", "connect"];

test("an empty log answers at once with its cursor, and again after every silence", async () => {
  for (const form of forms) {
    const stream = await world.open({}, { form, key: empty });
    assert.equal(stream.status, 200);
    await stream.until("three heartbeats", ({ messages }) => messages.length >= 4);
    stream.leave();
    assert.ok(stream.messages.every((message) => message.cursor === "0" && !("event" in message)));
  }
});

test("a heartbeat carries the cursor of the last event", async () => {
  const stream = await world.open({ cursor: "latest" });
  await world.send("delivered");
  await stream.until("a heartbeat after the event", ({ messages }) => {
    const at = messages.findIndex(({ event }) => event);
    return at >= 0 && messages.length > at + 1;
  });
  stream.leave();
  const [event] = stream.events();
  assert.equal(stream.messages.at(-1)!.cursor, event!.cursor);
});

test("a deadline ends the stream with deadline_exceeded, after what came before it", async () => {
  const key = (await createKey(world.program, { permission: "READ" })).secret;
  for (const form of forms) {
    const { messages, end } = await world.read({}, { form, key, headers: { "connect-timeout-ms": "600" } });
    assert.equal(end.code, "deadline_exceeded");
    assert.match(end.message, /Resume from the last cursor/);
    assert.ok(messages.length > 0);
  }
});
