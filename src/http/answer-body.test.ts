import assert from "node:assert/strict";
import { connect as connect2 } from "node:http2";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createMetrics } from "../ops/metrics.ts";
import { type ReadLimits, writeBody } from "./answer-body.ts";
import { createHttp } from "./server.ts";

const chunk = Buffer.alloc(1024 * 1024, "x");
const chunks = 64;

async function* body(): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < chunks; i++) yield chunk;
}

/** Serves a body that no socket buffer holds, and reports when the writer is done. */
async function serve(t: TestContext, limits: Partial<ReadLimits>) {
  const written = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const http = createHttp({
    host: "127.0.0.1",
    port: 0,
    log: silentLog(),
    metrics: createMetrics(),
    handle(request, response) {
      request.on("error", () => {});
      response.on("error", () => {});
      response.once("close", closed.resolve);
      writeBody(response, body(), limits).then(written.resolve, written.reject);
    },
  });
  const { port } = await http.start();
  t.after(() => http.stop(0));
  return { port, written: written.promise, closed: closed.promise };
}

const limits = { stallMs: 100 };
const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

test("a client that reads gets the whole body over both protocols", async (t) => {
  const { port, written } = await serve(t, {});
  const answer = await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer();
  assert.equal(answer.byteLength, chunks * chunk.length);
  await written;
  const session = connect2(`http://127.0.0.1:${port}`);
  const received = Buffer.concat(await session.request({ ":path": "/" }).toArray());
  assert.equal(received.length, chunks * chunk.length);
  session.close();
});

test("a client that reads nothing is disconnected", async (t) => {
  const { port, written, closed } = await serve(t, limits);
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(request);
  await Promise.all([written, closed]);
  socket.destroy();
});

test("an HTTP/2 stream that is not read is closed with ENHANCE_YOUR_CALM, and its session stays open", async (t) => {
  const { port, written, closed } = await serve(t, limits);
  const session = connect2(`http://127.0.0.1:${port}`);
  const stream = session.request({ ":path": "/" });
  stream.on("error", () => {});
  await Promise.all([written, closed]);
  stream.resume();
  await until("the end of the stream", () => stream.closed);
  assert.equal(stream.rstCode, 11);
  assert.equal(session.closed, false);
  session.close();
});

test("a client that reads steadily but too slowly is disconnected", async (t) => {
  const { port, written, closed } = await serve(t, { stallMs: 300, minBytesPerSecond: 1e12 });
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(request);
  socket.pause();
  const drip = setInterval(() => socket.read(256 * 1024) ?? socket.read(), 20);
  await Promise.all([written, closed]);
  clearInterval(drip);
  socket.destroy();
});
