/** How streams end: the reader leaves, the node stops, the key is revoked. Each is told, and nothing is held afterwards. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { openFiles } from "../harness/process-stats.ts";
import type { RunningProgram } from "../harness/program.ts";
import {
  type OpenStream,
  openStream,
  type StreamForm,
  type StreamWorld,
  startStreamWorld,
} from "../harness/streams.ts";
import { until } from "../harness/wait.ts";
import { createKey } from "../harness/workspaces.ts";

let world: StreamWorld;
let second: RunningProgram;
before(async () => {
  world = await startStreamWorld({ POSTHORN_STREAM_HEARTBEAT_MS: "300" });
  second = await world.startNode();
});
after(async () => await world?.stop());

const forms: StreamForm[] = ["lines", "sse", "connect"];
const begun = (stream: OpenStream) => stream.until("the first message", ({ messages }) => messages.length > 0);

async function openOn(opsUrl: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^posthorn_event_streams (\d+)/m.exec(text)?.[1]);
}

test("readers that leave are let go of, in every form", async () => {
  const { opsUrl } = world.program;
  const streams = await Promise.all(Array.from({ length: 45 }, (_, i) => world.open({}, { form: forms[i % 3] })));
  await Promise.all(streams.map(begun));
  assert.equal(await openOn(opsUrl), 45);
  for (const stream of streams) stream.leave();
  await until("the follower to let go of all", async () => (await openOn(opsUrl)) === 0);
});

test("connections that are cut leave no stream and no open file behind", async () => {
  const { opsUrl, key, pid, ports } = world.program;
  // Sockets by hand: fetch opens new ones in place of those it was made to leave.
  const cut = async () => {
    const socket = connect(ports.http, "127.0.0.1");
    const head = [`Authorization: Bearer ${key}`, "Content-Type: application/json", "Connect-Protocol-Version: 1"];
    socket.write(
      `POST /v1.EmailService/StreamEvents HTTP/1.1\r\nHost: x\r\n${head.join("\r\n")}\r\nContent-Length: 2\r\n\r\n{}`,
    );
    for await (const chunk of socket) if (String(chunk).includes('{"cursor"')) break;
    socket.resetAndDestroy();
  };
  await Promise.all(Array.from({ length: 50 }, cut));
  const before = openFiles(pid);
  for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 50 }, cut));
  await until("all to be let go", async () => (await openOn(opsUrl)) === 0 && openFiles(pid) <= before);
});

test("a revoked key ends its streams with unauthenticated, on this node and on another, and no one else's", async () => {
  const key = await createKey(world.program, { permission: "READ" });
  const mine = await Promise.all(
    [world.program.url, second.url].flatMap((url) => forms.map((form) => openStream(url, { key: key.secret, form }))),
  );
  const others = await openStream(second.url, { key: world.program.key });
  await Promise.all([...mine, others].map(begun));
  const { status } = await world.program.call("KeyService/RevokeKey", { id: key.id });
  assert.equal(status, 200);
  for (const stream of mine) {
    const { code, message } = await stream.ended;
    assert.equal(code, "unauthenticated");
    assert.match(message, /with a key that has not been revoked/);
  }
  const seen = others.messages.length;
  await others.until("the other stream to go on", ({ messages }) => messages.length > seen + 1);
  others.leave();
});

test("a node that stops ends its streams with unavailable, and they go on elsewhere with nothing missing", async () => {
  const streams = await Promise.all(forms.map((form) => openStream(second.url, { key: second.key, form })));
  await Promise.all(streams.map(begun));
  await world.send("delivered");
  const last = (await world.table()).at(-1)!.number;
  for (const stream of streams)
    await stream.until("the event", ({ messages }) => messages.some((m) => m.cursor === last));
  const stopped = second.stop();
  for (const stream of streams) {
    const { code, message } = await stream.ended;
    assert.equal(code, "unavailable");
    assert.match(message, /Resume from the last cursor/);
  }
  assert.equal(await stopped, 0);
  await world.send("bounced");
  for (const stream of streams) {
    const { events } = await world.read({ cursor: stream.messages.at(-1)!.cursor, follow: false });
    assert.deepEqual(
      events.map(({ event }) => event.type),
      ["email.bounced"],
    );
  }
});
