/** Readers that stop reading: their buffers are bounded, others go on, the stream ends, and resuming loses nothing. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { request as http1, type IncomingMessage } from "node:http";
import { type ClientHttp2Session, connect as http2 } from "node:http2";
import type { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { memoryMiB } from "../harness/process-stats.ts";
import { addEvents, numbers, type StreamWorld, startStreamWorld } from "../harness/streams.ts";
import { until } from "../harness/wait.ts";

const stored = 500;
const stalledReaders = 20;
let world: StreamWorld;
let session: ClientHttp2Session;
before(async () => {
  world = await startStreamWorld({ POSTHORN_STREAM_STALL_MS: "1000" });
  // Far more than the kernel takes for a connection that nobody reads.
  const payload = { from: "ann@there.test", body: randomBytes(20_000).toString("hex") };
  await addEvents(world.database.sql, world.workspaceId, stored, { type: "email.replied", payload });
  session = http2(world.program.url);
});
after(async () => {
  session?.destroy();
  await world?.stop();
});

const path = "/v1.EmailService/StreamEvents";
const headers = () => ({
  authorization: `Bearer ${world.program.key}`,
  "content-type": "application/json",
  "connect-protocol-version": "1",
});

/** An answer that is not read until somebody asks for its data. */
function stalledOverHttp1(): Promise<Readable> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", path, headers: headers(), agent: false };
    http1(world.program.url + path, options, (answer: IncomingMessage) => resolve(answer))
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
  const text = await (await fetch(`${world.program.opsUrl}/metrics`)).text();
  return Number(/^posthorn_event_streams (\d+)/m.exec(text)?.[1]);
}

test("stopped readers hold little memory and do not delay other readers", async () => {
  const before = memoryMiB(world.program.pid).now;
  const live = await world.open({ cursor: "latest" });
  await Promise.all(
    Array.from({ length: stalledReaders }, (_, i) => (i % 2 === 0 ? stalledOverHttp1() : stalledOverHttp2())),
  );
  // While they hold their connections, others see what happens.
  await world.send("delivered");
  await live.until("an event beside them", (stream) => stream.events().length > 0);
  await until("the stopped readers to be ended", async () => (await openStreams()) === 1);
  const grown = memoryMiB(world.program.pid).peak - before;
  // Unbounded, each would hold most of the log's 20 MB.
  assert.ok(grown < 300, `${Math.round(grown)} MiB for ${stalledReaders} stopped readers`);
  assert.equal(live.events().length, 1);
  live.leave();
  await until("the last stream to end", async () => (await openStreams()) === 0);
});

test("a reader that stopped gets resource_exhausted as the end of its stream and loses nothing", async () => {
  for (const open of [stalledOverHttp1, stalledOverHttp2]) {
    const stalled = await open();
    // One at a time, and read as soon as it is ended: the server drops an end that is not taken within 30 s.
    await until("the stopped reader to be ended", async () => (await openStreams()) === 0);
    const text = await textOf(stalled);
    const lines = text.trimEnd().split("\n");
    const end = JSON.parse(lines.pop()!) as { error: { code: string; message: string } };
    assert.equal(end.error.code, "resource_exhausted");
    assert.match(end.error.message, /Resume from the last cursor; nothing is lost/);
    const seen = lines.slice(1).map((line) => (JSON.parse(line) as { cursor: string }).cursor);
    assert.ok(seen.length < stored, "the reader was never slow: the test has tested nothing");
    const { events } = await world.read({ cursor: seen.at(-1) ?? "0", follow: false });
    const joined = [...seen, ...events.map(({ cursor }) => cursor)];
    assert.deepEqual(joined, numbers(1, (await world.table()).length));
  }
});

async function textOf(answer: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
