/** The endpoint behind unsubscribe links on the wire: how mail programs, proxies and odd clients send their requests, and that no log
 * contains a token. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { accepted, untilEvent } from "../harness/sending.ts";
import { on } from "../harness/sink-script.ts";
import { readStream } from "../harness/streams.ts";
import { startTestbed, type Testbed } from "../harness/testbed.ts";
import { entriesOf, oneClick, post, press, publicUrl, request, sendWithLink } from "../harness/unsubscribe.ts";

const later = "later@there.test";
let testbed: Testbed;
before(async () => {
  testbed = await startTestbed({
    env: { POSTHORN_PUBLIC_URL: publicUrl, POSTHORN_LOG_LEVEL: "trace" },
    // The first email is accepted, all later ones are deferred.
    sink: {
      script: on("rcpt", ({ recipient, seen }) => (recipient === later && seen > 1 ? "451 4.7.1 Later" : undefined)),
    },
  });
});
after(async () => await testbed.stop());

const form = "application/x-www-form-urlencoded";
const isLeft = async (address: string) => (await entriesOf(testbed, { search: address })).length === 1;

/** Sends texts one after the other, and returns what was answered until the server closed the connection. */
async function converse(texts: readonly string[]): Promise<string> {
  const socket = connect({ port: testbed.program.ports.http, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  let read = "";
  socket.on("data", (chunk) => (read += chunk));
  for (const text of texts) {
    socket.write(text);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await once(socket, "close");
  return read;
}

const head = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\nContent-Type: ${form}\r\n${more}\r\n\r\n`;

test("a body in chunks of one octet is read", async () => {
  const { path } = await sendWithLink(testbed, "chunks@there.test", "news");
  const chunks = [...oneClick].map((char) => `1\r\n${char}\r\n`);
  const answer = await converse([head(path, "Transfer-Encoding: chunked"), ...chunks, "0\r\n\r\n"]);
  assert.match(answer, /^HTTP\/1\.1 200 /);
  assert.ok(await isLeft("chunks@"));
});

test("Expect: 100-continue is answered before the body", async () => {
  const { path } = await sendWithLink(testbed, "expect@there.test", "news");
  const expecting = `Expect: 100-continue\r\nContent-Length: ${oneClick.length}`;
  const answer = await converse([head(path, expecting), oneClick]);
  assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  assert.ok(await isLeft("expect@"));
});

test("HTTP/2 works, and a refused request leaves the connection to others", async () => {
  const { path } = await sendWithLink(testbed, "http2@there.test", "news");
  const session = connectHttp2(testbed.program.url);
  const ask = async (method: string, path: string, body?: string) => {
    const stream = session.request({ ":method": method, ":path": path, "content-type": form }, { endStream: !body });
    if (body) stream.end(body);
    let text = "";
    stream.on("data", (chunk) => (text += chunk));
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    if (!stream.closed) await once(stream, "close");
    return { status: headers[":status"], text };
  };
  assert.equal((await ask("POST", "/unsubscribe/wrong", "x".repeat(100_000))).status, 404);
  assert.equal((await ask("PUT", path, oneClick)).status, 405);
  assert.deepEqual(await ask("HEAD", path), { status: 200, text: "" });
  assert.equal(await isLeft("http2@"), false);
  assert.equal((await ask("POST", path, oneClick)).status, 200);
  assert.ok(await isLeft("http2@"));
  session.close();
});

test("a compressed body changes nothing, and the answer says which body is right", async () => {
  const { path } = await sendWithLink(testbed, "gzip@there.test", "news");
  const headers = { "content-type": form, "content-encoding": "gzip" };
  const answer = await request(testbed, path, { method: "POST", body: gzipSync(oneClick), headers });
  assert.deepEqual([answer.status, answer.text], [415, "Send the body without Content-Encoding.\n"]);
  assert.equal(await isLeft("gzip@"), false);
});

test("a delayed email is not tried again after its recipient left", async () => {
  const { path } = await sendWithLink(testbed, later, "news");
  const id = await accepted(testbed, { to: [later], unsubscribe: { topic: "news" }, async: true });
  await untilEvent(testbed, id, "email.delayed");
  assert.equal((await post(testbed, path)).status, 200);
  await untilEvent(testbed, id, "email.suppressed");
});

test("StreamEvents has the changes in order, also by type", async () => {
  const { id, path } = await sendWithLink(testbed, "stream@there.test", "news");
  await press(testbed, path, "unsubscribe-all");
  await press(testbed, path, "subscribe-all");
  await post(testbed, path);
  const { url, key } = testbed.program;
  const types = ["email.unsubscribed"];
  const { events } = await readStream(url, { key, request: { cursor: "0", types, emailId: id, follow: false } });
  assert.deepEqual(
    events.map(({ event }) => event.unsubscribed),
    [
      { topic: "*", method: "UNSUBSCRIBE_METHOD_PAGE", resubscribed: false },
      { topic: "*", method: "UNSUBSCRIBE_METHOD_PAGE", resubscribed: true },
      { topic: "news", method: "UNSUBSCRIBE_METHOD_ONE_CLICK", resubscribed: false },
    ].map((change) => ({ recipients: ["stream@there.test"], ...change })),
  );
});

test("no log and no audit entry contains a token or the address of a recipient", async () => {
  const { path } = await sendWithLink(testbed, "secret@there.test", "news");
  const token = path.slice("/unsubscribe/".length);
  await request(testbed, path);
  await post(testbed, path);
  await post(testbed, path, "x=1");
  await post(testbed, path, "x", "text/plain");
  await request(testbed, path, { method: "PUT" });
  await post(testbed, `${path}x`);
  const output = testbed.program.output();
  assert.match(output, /"msg":/);
  assert.ok(!output.includes(token.slice(0, 40)));
  const rows = await testbed.database.sql<{ text: string }[]>`select a::text as text from audit_entries a`;
  for (const { text } of rows) assert.doesNotMatch(text, /secret@there\.test/);
});
