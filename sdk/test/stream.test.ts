/** One connection of a stream: silence, foreign answers and broken frames. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import type { PosthornError } from "../src/index.ts";
import { readSettings } from "../src/settings.ts";
import { createOpenStream } from "../src/stream.ts";
import { peerKey, rejection, startPeer } from "./peer.ts";

async function read(t: TestContext, answer: (response: ServerResponse) => unknown, silenceMs = 10_000) {
  const peer = await startPeer({ instead: (_request, response) => [answer(response)].length > 0 });
  t.after(() => peer.close());
  const open = createOpenStream(readSettings({ apiKey: peerKey, baseUrl: peer.url }));
  const seen: unknown[] = [];
  const error = await rejection<PosthornError>(
    (async () => {
      for await (const message of open("EmailService/StreamEvents", {}, { silenceMs })) seen.push(message);
    })(),
  );
  return { seen, code: error.code, message: error.message };
}

function frame(flags: number, text: string): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

const stream = { "content-type": "application/connect+json" };

test("a server that falls silent is left", async (t) => {
  const { seen, code, message } = await read(
    t,
    (response) => response.writeHead(200, stream).write(frame(0, '{"cursor":"4"}')),
    60,
  );
  assert.deepEqual(seen, [{ cursor: "4" }]);
  assert.equal(code, "unavailable");
  assert.match(message, /silent for 60 ms/);
});

test("a server that never answers at all is left too", async (t) => {
  assert.match((await read(t, () => {}, 40)).message, /silent/);
});

test("an error before the stream begins keeps its code", async (t) => {
  const json = (response: ServerResponse) =>
    response.writeHead(401, { "content-type": "application/json" }).end('{"code":"unauthenticated","message":"no"}');
  assert.equal((await read(t, json)).code, "unauthenticated");
  const page = (response: ServerResponse) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Hi</p>");
  assert.match((await read(t, page)).message, /no answer of Posthorn/);
});

test("frames that no server of ours would send end the stream", async (t) => {
  const answers = [frame(1, "{}"), frame(0, "{"), Buffer.from([0, 0xff, 0xff, 0xff, 0xff])];
  for (const bytes of answers) {
    assert.equal((await read(t, (response) => response.writeHead(200, stream).end(bytes))).code, "internal");
  }
});
