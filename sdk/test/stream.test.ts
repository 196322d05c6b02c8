/** One connection of a stream: idle timeout, responses from other servers, malformed frames. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import type { PosthornError } from "../src/index.ts";
import { readSettings } from "../src/settings.ts";
import { createOpenStream } from "../src/stream.ts";
import { peerKey, rejection, startPeer } from "./peer.ts";

const idleTimeoutMs = 45_000;

async function open(t: TestContext, answer: (response: ServerResponse) => unknown) {
  const peer = await startPeer({ instead: (_request, response) => [answer(response)].length > 0 });
  t.after(() => peer.close());
  const open = createOpenStream(readSettings({ apiKey: peerKey, baseUrl: peer.url }));
  return open("EmailService/StreamEvents", {}, { idleTimeoutMs });
}

function frame(flags: number, text: string): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

const stream = { "content-type": "application/connect+json" };

/** Advances the mocked clock past the idle timeout while the stream waits for its next message. */
async function waitForIdleTimeout(t: TestContext, messages: AsyncGenerator<unknown>): Promise<PosthornError> {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const waiting = rejection<PosthornError>(messages.next());
  await new Promise(setImmediate);
  t.mock.timers.tick(idleTimeoutMs);
  return await waiting;
}

test("a stream fails when the server stops sending", async (t) => {
  const messages = await open(t, (response) => response.writeHead(200, stream).write(frame(0, '{"cursor":"4"}')));
  assert.deepEqual((await messages.next()).value, { cursor: "4" });
  const error = await waitForIdleTimeout(t, messages);
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /no data for 45000 ms/);
});

test("a stream fails when the server never responds", async (t) => {
  const messages = await open(t, () => {});
  assert.match((await waitForIdleTimeout(t, messages)).message, /no data/);
});

test("the time that the consumer spends on an event does not count as idle", async (t) => {
  let sendRest = () => {};
  const messages = await open(t, (response) => {
    response.writeHead(200, stream).write(frame(0, '{"cursor":"4"}'));
    sendRest = () => response.end(Buffer.concat([frame(0, '{"cursor":"5"}'), frame(2, "{}")]));
  });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  assert.deepEqual((await messages.next()).value, { cursor: "4" });
  t.mock.timers.tick(10 * idleTimeoutMs);
  sendRest();
  assert.deepEqual((await messages.next()).value, { cursor: "5" });
  assert.equal((await messages.next()).done, true);
});

test("an error before the first message keeps its code", async (t) => {
  const refusal = await open(t, (response) =>
    response.writeHead(401, { "content-type": "application/json" }).end('{"code":"unauthenticated","message":"no"}'),
  );
  assert.equal((await rejection<PosthornError>(refusal.next())).code, "unauthenticated");
  const page = await open(t, (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Hi</p>"));
  assert.match((await rejection(page.next())).message, /not from the Posthorn API/);
});

test("malformed frames end the stream with internal", async (t) => {
  for (const bytes of [frame(1, "{}"), frame(0, "{"), Buffer.from([0, 0xff, 0xff, 0xff, 0xff])]) {
    const messages = await open(t, (response) => response.writeHead(200, stream).end(bytes));
    assert.equal((await rejection<PosthornError>(messages.next())).code, "internal");
  }
});
