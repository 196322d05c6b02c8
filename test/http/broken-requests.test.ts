/** Broken requests of many kinds on raw sockets, while a healthy client keeps calling and gets no error. */
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { memoryMiB, openConnections, openFiles } from "../harness/process-stats.ts";
import { type RunningProgram, startProgram } from "../harness/program.ts";
import {
  frame,
  frames,
  hpack,
  http2Preface,
  type RawOptions,
  type RawResponse,
  sendRaw,
  writeUntilClosed,
} from "../harness/raw.ts";
import { until } from "../harness/wait.ts";

const bodyLimit = 1024 * 1024;
const databasePool = 4;
let database: TestDatabase;
let program: RunningProgram;
let healthy: { stop(): Promise<{ calls: number; errors: string[] }> };
let baseline: { connections: number; files: number; peak: number };

before(async () => {
  database = await createTestDatabase();
  program = await startProgram({
    databaseUrl: database.url,
    env: { POSTHORN_MAX_BODY_BYTES: String(bodyLimit), POSTHORN_DATABASE_POOL: String(databasePool) },
  });
  healthy = startHealthyClient();
  await until("the healthy client to have warmed up", () => calls > 200);
  baseline = {
    connections: openConnections(program.ports.http),
    files: openFiles(program.pid),
    peak: memoryMiB(program.pid).peak,
  };
});

after(async () => {
  await program?.remove();
  await database?.drop();
});

let calls = 0;

/** Makes one call after another, like a well-behaved client. */
function startHealthyClient() {
  const errors: string[] = [];
  let running = true;
  const done = (async () => {
    while (running) {
      const answer = await program.call("KeyService/ListKeys", {}).catch((error: Error) => error);
      calls++;
      if (answer instanceof Error) errors.push(`${answer.message}: ${answer.cause}`);
      else if (answer.status !== 200) errors.push(JSON.stringify(answer.body));
    }
  })();
  return {
    async stop() {
      running = false;
      await done;
      return { calls, errors };
    },
  };
}

const path = "/v1.KeyService/ListKeys";
const send = (bytes: string | Buffer, options?: RawOptions) => sendRaw(program.ports.http, bytes, options);
const head = (lines: Record<string, string>, first = `POST ${path} HTTP/1.1`) =>
  `${first}\r\n${Object.entries(lines)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
/** The head of a valid call, with the changes of the test. */
const call = (more: Record<string, string> = {}, first?: string) =>
  head(
    {
      Host: "localhost",
      Authorization: `Bearer ${program.key}`,
      "Content-Type": "application/json",
      "Connect-Protocol-Version": "1",
      ...more,
    },
    first,
  );
const withBody = (body: string | Buffer, more: Record<string, string> = {}) =>
  Buffer.concat([Buffer.from(call({ "Content-Length": String(Buffer.byteLength(body)), ...more })), Buffer.from(body)]);

/** Read until the response and its JSON body are complete. */
const wholeJson: RawOptions = { enough: /\r\n\r\n\{.*\}$/s };
const errorOf = (response: RawResponse) =>
  JSON.parse(response.text.slice(response.text.indexOf("\r\n\r\n{"))) as { code: string };

/** Each request with the expected status; 0 is a connection closed without a response. */
const rejected: [name: string, bytes: () => string | Buffer, status: number | number[], options?: RawOptions][] = [
  ["a Host with a space", () => call({ Host: "a b" }), 400],
  ["a Host with an invalid port", () => call({ Host: "a:99999" }), 400],
  ["a Host that is a URL", () => call({ Host: "http://a/" }), 400],
  ["a Host with a user", () => call({ Host: "x@localhost" }), 400],
  ["an empty Host", () => call({ Host: "" }), 400],
  ["no Host", () => `POST ${path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n`, 400],
  ["HTTP/1.0 without Host", () => `POST ${path} HTTP/1.0\r\nContent-Length: 0\r\n\r\n`, 400],
  ["HTTP/0.9", () => `GET ${path}\r\n\r\n`, 400],
  ["HTTP/9.9", () => `GET ${path} HTTP/9.9\r\nHost: a\r\n\r\n`, 400],
  ["random bytes", () => Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 251)), 400],
  ["a TLS hello", () => Buffer.from("16030100c8010000c40303", "hex"), 400],
  ["a NUL in the path", () => `GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n`, 400],
  ["half a request line, then the end", () => "POST /v1.Key", [0, 400], { halfClose: true }],
  ["nothing, then the end", () => "", 0, { halfClose: true }],
  ["a header of 64 KB", () => call({ "X-Long": "x".repeat(65_536) }), 431],
  ["a path of 64 KB", () => call({}, `GET /${"x".repeat(65_536)} HTTP/1.1`), [400, 414, 431]],
  ["10,000 headers", () => call(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`X-${i}`, "y"]))), 431],
  ["a header line without a colon", () => `GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n`, 400],
  ["a folded header", () => `GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n`, 400],
  ["a space before the colon", () => `GET / HTTP/1.1\r\nHost : a\r\n\r\n`, 400],
  [
    "Content-Length and Transfer-Encoding together",
    () => `${call({ "Content-Length": "4", "Transfer-Encoding": "chunked" })}0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
    400,
  ],
  ["two Content-Length headers", () => call({ "Content-Length": "4", "content-length": "5" }), 400],
  ["a Content-Length that is not a number", () => call({ "Content-Length": "-1" }), 400],
  ["an unknown transfer coding", () => call({ "Transfer-Encoding": "xchunked" }), 400],
  ["a chunk size that is not a number", () => `${call({ "Transfer-Encoding": "chunked" })}zz\r\n`, 400],
  ["CONNECT", () => "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", 405],
  ["TRACE", () => head({ Host: "a" }, `TRACE ${path} HTTP/1.1`), 405],
  ["GET on an RPC", () => head({ Host: "a" }, `GET ${path} HTTP/1.1`), 405],
  ["an unknown HTTP method", () => head({ Host: "a" }, `BREW ${path} HTTP/1.1`), 400],
  [
    "an upgrade to a web socket",
    () => head({ Host: "a", Connection: "Upgrade", Upgrade: "websocket" }, "GET / HTTP/1.1"),
    501,
  ],
  ["a path that does not exist", () => withBody("{}", {}).toString().replace(path, "/nowhere"), 404],
  ["an absolute target", () => head({ Host: "a" }, "GET http://a/ HTTP/1.1"), 400],
  ["the target *", () => head({ Host: "a" }, "OPTIONS * HTTP/1.1"), 400],
  ["percent garbage in the path", () => head({ Host: "a" }, "POST /%zz%00%ff HTTP/1.1"), 404],
  ["dots in the path", () => head({ Host: "a" }, "POST /../../etc/passwd HTTP/1.1"), 404],
  ["an unknown expectation", () => call({ Expect: "200-maybe", "Content-Length": "2" }), 417],
  ["another content type", () => withBody("a=b", { "Content-Type": "application/x-www-form-urlencoded" }), 415],
];

for (const [name, bytes, status, options] of rejected) {
  it(`rejects ${name}`, async () => {
    const response = await send(bytes(), options);
    assert.ok([status].flat().includes(response.status), `expected ${status}, got ${JSON.stringify(response)}`);
  });
}

/** Valid HTTP requests that are invalid calls: each gets a Connect error. */
const wrong: [name: string, bytes: () => string | Buffer, code: string, status: number][] = [
  [
    "a method that is not in the contract",
    () => withBody("{}").toString().replace("ListKeys", "Nope"),
    "unimplemented",
    501,
  ],
  [
    "100,000 levels of JSON",
    () => withBody(`{"pageToken":${"[".repeat(1e5)}${"]".repeat(1e5)}}`),
    "invalid_argument",
    400,
  ],
  ["100,000 levels that never close", () => withBody('{"a":'.repeat(1e5)), "invalid_argument", 400],
  ["bad UTF-8", () => withBody(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), "invalid_argument", 400],
  ["incomplete JSON", () => withBody('{"pageSize": '), "invalid_argument", 400],
  ["the same field twice", () => withBody('{"pageSize":1,"pageSize":2}'), "invalid_argument", 400],
  ["no body", () => withBody(""), "invalid_argument", 400],
  ["a body of 1 GiB announced", () => call({ "Content-Length": String(2 ** 30) }), "resource_exhausted", 429],
  ["gzip that unpacks to 1 GiB", () => withBody(gzipBomb(), { "Content-Encoding": "gzip" }), "resource_exhausted", 429],
  ["a body that is not gzip", () => withBody("not gzip", { "Content-Encoding": "gzip" }), "invalid_argument", 400],
  ["an unknown content encoding", () => withBody("{}", { "Content-Encoding": "zip" }), "unimplemented", 501],
  ["a timeout that is not a number", () => withBody("{}", { "Connect-Timeout-Ms": "soon" }), "invalid_argument", 400],
  ["a timeout of 115 days", () => withBody("{}", { "Connect-Timeout-Ms": "9999999999" }), "invalid_argument", 400],
  [
    "invalid protobuf",
    () => withBody(Buffer.from("0affffffffffffffff", "hex"), { "Content-Type": "application/proto" }),
    "invalid_argument",
    400,
  ],
];

for (const [name, bytes, code, status] of wrong) {
  it(`answers ${name} with ${code}`, async () => {
    const response = await send(bytes(), wholeJson);
    assert.equal(response.status, status, response.text);
    assert.equal(errorOf(response).code, code, response.text);
  });
}

it("stops reading a chunked body at the size limit", async () => {
  let sentBytes = 0;
  const chunk = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(0x10000, "x"), Buffer.from("\r\n")]);
  const response = await send("", {
    enough: /never/,
    async talk(socket) {
      socket.write(call({ "Transfer-Encoding": "chunked" }));
      sentBytes = await writeUntilClosed(socket, chunk, 2 ** 30);
    },
  });
  assert.equal(response.status, 429, response.text);
  assert.ok(sentBytes < 2 ** 30, "the server read a whole GiB");
});

it("discards an incomplete body", async () => {
  for (const end of ["end", "destroy"] as const) {
    const response = await send("", {
      talk(socket) {
        socket.write(`${call({ "Content-Length": "1000" })}{"pageSize"`, () => socket[end]());
      },
    });
    assert.ok([0, 400].includes(response.status), response.text);
  }
});

it("does not serve a request that is smuggled in the body of another", async () => {
  const inner = `GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`;
  const response = await send(withBody(inner, { "Content-Type": "text/plain" }), { enough: /415[\s\S]*\r\n\r\n/ });
  assert.equal(response.text.match(/HTTP\/1\.1 /g)?.length, 1, response.text);
});

it("answers pipelined requests on one connection in order", async () => {
  const response = await send(
    Buffer.concat([withBody("{}"), withBody('{"pageSize":-1}'), withBody("{}", { Connection: "close" })]),
    {
      enough: /never/,
    },
  );
  const statuses = [...response.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1]));
  assert.deepEqual(statuses, [200, 400, 200]);
});

const settings = frame(frames.settings, 0, 0);
const requestHead = hpack({ ":method": "POST", ":scheme": "http", ":path": path, ":authority": "localhost" });

/** Protocol violations in HTTP/2. The connection or the stream must end without harm to others. */
const http2: [name: string, bytes: () => Buffer][] = [
  ["a preface cut short", () => http2Preface.subarray(0, 10)],
  ["a preface and nothing else", () => http2Preface],
  ["garbage for frames", () => Buffer.concat([http2Preface, Buffer.alloc(4096, 0xee)])],
  [
    "a frame larger than allowed",
    () => Buffer.concat([http2Preface, settings, frame(frames.data, 0, 1, Buffer.alloc(65_536))]),
  ],
  ["data on a stream that was never opened", () => Buffer.concat([http2Preface, settings, frame(frames.data, 1, 7)])],
  [
    "headers that are not HPACK",
    () => Buffer.concat([http2Preface, settings, frame(frames.headers, 5, 1, Buffer.alloc(64, 0xff))]),
  ],
  [
    "headers on an even stream",
    () => Buffer.concat([http2Preface, settings, frame(frames.headers, 5, 2, requestHead)]),
  ],
  [
    "a window update of zero",
    () => Buffer.concat([http2Preface, settings, frame(frames.windowUpdate, 0, 0, Buffer.alloc(4))]),
  ],
  [
    "an endless header",
    () =>
      Buffer.concat([
        http2Preface,
        settings,
        frame(frames.headers, 0, 1, requestHead),
        ...Array.from({ length: 2000 }, (_, i) =>
          frame(frames.continuation, 0, 1, hpack({ [`x-${i}`]: "y".repeat(100) })),
        ),
      ]),
  ],
  [
    "10,000 streams opened and reset at once",
    () =>
      Buffer.concat([
        http2Preface,
        settings,
        ...Array.from({ length: 10_000 }, (_, i) =>
          Buffer.concat([
            frame(frames.headers, 4, 2 * i + 1, requestHead),
            frame(frames.rstStream, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])),
          ]),
        ),
      ]),
  ],
  [
    "100,000 pings",
    () =>
      Buffer.concat([
        http2Preface,
        settings,
        ...Array.from({ length: 100_000 }, () => frame(frames.ping, 0, 0, Buffer.alloc(8))),
      ]),
  ],
];

for (const [name, bytes] of http2) {
  it(`survives HTTP/2 with ${name}`, async () => {
    await send(bytes(), { enough: /never/, halfClose: true });
  });
}

it("the healthy client got no error, the process still runs, and no resources leaked", async () => {
  const before = calls;
  await until("the healthy client to continue", () => calls > before + 100);
  const { errors } = await healthy.stop();
  assert.deepEqual(errors.slice(0, 5), [], program.output().slice(-2000));
  assert.equal((await program.call("KeyService/ListKeys")).status, 200);
  await until("the connections to be closed", () => openConnections(program.ports.http) <= baseline.connections);
  // The database pool may have grown to its limit in the meantime.
  await until("the files to be closed", () => openFiles(program.pid) <= baseline.files + databasePool);
  const { peak } = memoryMiB(program.pid);
  assert.ok(peak < baseline.peak + 128, `memory rose from ${baseline.peak} to ${peak} MiB`);
  assert.doesNotMatch(program.output(), /"level":"error"/);
});

/** 1 GiB of zeros in 1 MB of gzip. The server decompresses only once, so nested gzip would not help an attacker. */
function gzipBomb(): Buffer {
  const piece = gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 });
  return Buffer.concat(Array.from({ length: 15 }, () => piece));
}
