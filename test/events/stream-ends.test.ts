/** How streams end: the reader disconnects, the node shuts down, or the key is revoked. The server reports the reason and leaks nothing. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { openFiles } from "../harness/process-stats.ts";
import type { RunningProgram } from "../harness/program.ts";
import {
  type OpenStream,
  openStream,
  type StreamForm,
  type StreamTestbed,
  startStreamTestbed,
} from "../harness/streams.ts";
import { until } from "../harness/wait.ts";
import { createKey } from "../harness/workspaces.ts";

let testbed: StreamTestbed;
let second: RunningProgram;
before(async () => {
  testbed = await startStreamTestbed({ POSTHORN_STREAM_HEARTBEAT_MS: "300" });
  second = await testbed.startNode();
});
after(async () => await testbed?.stop());

const forms: StreamForm[] = ["lines", "sse", "connect"];
const untilStarted = (stream: OpenStream) => stream.until("the first message", ({ messages }) => messages.length > 0);

async function openStreams(opsUrl: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(/^posthorn_event_streams (\d+)/m.exec(text)?.[1]);
}

test("the server closes the streams of readers that disconnect, in every form", async () => {
  const { opsUrl } = testbed.program;
  const streams = await Promise.all(Array.from({ length: 45 }, (_, i) => testbed.open({}, { form: forms[i % 3] })));
  await Promise.all(streams.map(untilStarted));
  assert.equal(await openStreams(opsUrl), 45);
  for (const stream of streams) stream.leave();
  await until("all streams to be closed", async () => (await openStreams(opsUrl)) === 0);
});

test("connections that are reset leave no stream and no open file behind", async () => {
  const { opsUrl, key, pid, ports } = testbed.program;
  // Plain sockets, because fetch replaces closed connections with new ones.
  const openAndReset = async () => {
    const socket = connect(ports.http, "127.0.0.1");
    const head = [`Authorization: Bearer ${key}`, "Content-Type: application/json", "Connect-Protocol-Version: 1"];
    socket.write(
      `POST /v1.EmailService/StreamEvents HTTP/1.1\r\nHost: x\r\n${head.join("\r\n")}\r\nContent-Length: 2\r\n\r\n{}`,
    );
    for await (const chunk of socket) if (String(chunk).includes('{"cursor"')) break;
    socket.resetAndDestroy();
  };
  await Promise.all(Array.from({ length: 50 }, openAndReset));
  const before = openFiles(pid);
  for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 50 }, openAndReset));
  await until(
    "all streams and files to be closed",
    async () => (await openStreams(opsUrl)) === 0 && openFiles(pid) <= before,
  );
});

test("a revoked key ends its own streams with unauthenticated, on every node", async () => {
  const key = await createKey(testbed.program, { permission: "READ" });
  const revoked = await Promise.all(
    [testbed.program.url, second.url].flatMap((url) => forms.map((form) => openStream(url, { key: key.secret, form }))),
  );
  const others = await openStream(second.url, { key: testbed.program.key });
  await Promise.all([...revoked, others].map(untilStarted));
  const { status } = await testbed.program.call("KeyService/RevokeKey", { id: key.id });
  assert.equal(status, 200);
  for (const stream of revoked) {
    const { code, message } = await stream.ended;
    assert.equal(code, "unauthenticated");
    assert.match(message, /with a key that has not been revoked/);
  }
  const seen = others.messages.length;
  await others.until("the stream of another key to continue", ({ messages }) => messages.length > seen + 1);
  others.leave();
});

test("a node that shuts down ends its streams with unavailable, and they resume on another node without a gap", async () => {
  const streams = await Promise.all(forms.map((form) => openStream(second.url, { key: second.key, form })));
  await Promise.all(streams.map(untilStarted));
  await testbed.send("delivered");
  const last = (await testbed.table()).at(-1)!.number;
  for (const stream of streams)
    await stream.until("the event", ({ messages }) => messages.some((m) => m.cursor === last));
  const stopped = second.stop();
  for (const stream of streams) {
    const { code, message } = await stream.ended;
    assert.equal(code, "unavailable");
    assert.match(message, /Resume from the last cursor/);
  }
  assert.equal(await stopped, 0);
  await testbed.send("bounced");
  for (const stream of streams) {
    const { events } = await testbed.read({ cursor: stream.messages.at(-1)!.cursor, follow: false });
    assert.deepEqual(
      events.map(({ event }) => event.type),
      ["email.bounced"],
    );
  }
});
