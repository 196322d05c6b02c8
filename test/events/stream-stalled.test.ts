/** Readers that stop reading: their buffers are bounded, other readers continue, the stream ends, and resuming misses no event. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request as http1, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect as http2 } from "node:http2";
import type { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { memoryMiB } from "../harness/process-stats.ts";
import { addEvents, numbers, type StreamTestbed, startStreamTestbed } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const stored = 500;
const stalledReaders = 20;
let testbed: StreamTestbed;
let session: ClientHttp2Session;
before(async () => {
  testbed = await startStreamTestbed({ POSTHORN_STREAM_STALL_MS: "1000" });
  // Far more than the kernel buffers for a connection that is not read.
  const payload = { from: "ann@there.test", body: randomBytes(20_000).toString("hex") };
  await addEvents(testbed.database.sql, testbed.workspaceId, stored, { type: "email.replied", payload });
  session = http2(testbed.program.url);
});
after(async () => {
  session?.destroy();
  await testbed?.stop();
});

const path = "/v1.EmailService/StreamEvents";
const headers = () => ({
  authorization: `Bearer ${testbed.program.key}`,
  "content-type": "application/json",
  "connect-protocol-version": "1",
});

/** Opens a stream and returns its response, which is not read until the caller consumes it. */
function stalledOverHttp1(): Promise<Readable> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", path, headers: headers(), agent: false };
    http1(testbed.program.url + path, options, (response: IncomingMessage) => resolve(response))
      .on("error", reject)
      .end('{"cursor":"0"}');
  });
}

function stalledOverHttp2(): Promise<Readable> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers() });
    stream.on("error", reject);
    stream.on("response", () => resolve(stream));
    stream.end('{"cursor":"0"}');
  });
}

async function openStreams(): Promise<number> {
  const text = await (await fetch(`${testbed.program.opsUrl}/metrics`)).text();
  return Number(/^posthorn_event_streams (\d+)/m.exec(text)?.[1]);
}

test("stalled readers take little memory and do not delay other readers", async () => {
  const before = memoryMiB(testbed.program.pid).now;
  const live = await testbed.open({ cursor: "latest" });
  await Promise.all(
    Array.from({ length: stalledReaders }, (_, i) => (i % 2 === 0 ? stalledOverHttp1() : stalledOverHttp2())),
  );
  // While the stalled connections are open, another reader gets a new event.
  await testbed.send("delivered");
  await live.until("an event at the other reader", (stream) => stream.events().length > 0);
  await until("the streams of the stalled readers to end", async () => (await openStreams()) === 1);
  const growthMiB = memoryMiB(testbed.program.pid).peak - before;
  // Without a bound, each stream would buffer most of the log's 20 MB.
  assert.ok(growthMiB < 300, `${Math.round(growthMiB)} MiB for ${stalledReaders} stalled readers`);
  assert.equal(live.events().length, 1);
  live.leave();
  await until("the last stream to end", async () => (await openStreams()) === 0);
});

test("the stream of a stalled reader ends with resource_exhausted, and resuming misses no event", async () => {
  for (const open of [stalledOverHttp1, stalledOverHttp2]) {
    const stalled = await open();
    // One at a time, and read as soon as it ends: the server drops a final message that is not read within 30 s.
    await until("the stream of the stalled reader to end", async () => (await openStreams()) === 0);
    const text = await textOf(stalled);
    const lines = text.trimEnd().split("\n");
    const end = JSON.parse(lines.pop()!) as { error: { code: string; message: string } };
    assert.equal(end.error.code, "resource_exhausted");
    assert.match(end.error.message, /Resume from the last cursor; nothing is lost/);
    const seen = lines.slice(1).map((line) => (JSON.parse(line) as { cursor: string }).cursor);
    assert.ok(seen.length < stored, "the reader did not stall, so this test proves nothing");
    const { events } = await testbed.read({ cursor: seen.at(-1) ?? "0", follow: false });
    const joined = [...seen, ...events.map(({ cursor }) => cursor)];
    assert.deepEqual(joined, numbers(1, (await testbed.table()).length));
  }
});

async function textOf(response: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
