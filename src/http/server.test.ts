import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request as request1 } from "node:http";
import { connect as connect2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createMetrics } from "../ops/metrics.ts";
import { createHttp, type HttpLimits, type Listener } from "./server.ts";

/** Answers with the HTTP version of the request, once the request is complete. */
const echo: Listener = (request, response) => {
  request.resume();
  request.on("end", () => response.end(`HTTP/${request.httpVersion}`));
};

async function listen(t: TestContext, options: { handle?: Listener; limits?: Partial<HttpLimits> } = {}) {
  const http = createHttp({
    host: "127.0.0.1",
    port: 0,
    log: silentLog(),
    metrics: createMetrics(),
    handle: options.handle ?? echo,
    limits: options.limits,
  });
  const { port } = await http.start();
  t.after(() => http.stop(0));
  return { ...http, port, url: `http://127.0.0.1:${port}` };
}

async function postOverHttp2(url: string): Promise<string> {
  const session = connect2(url);
  try {
    const stream = session.request({ ":path": "/", ":method": "POST" });
    stream.end("x");
    return Buffer.concat(await stream.toArray()).toString();
  } finally {
    session.close();
  }
}

async function open(port: number, bytes = ""): Promise<{ socket: Socket; received: Promise<string> }> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const received = socket.toArray().then((chunks) => Buffer.concat(chunks).toString("latin1"));
  await once(socket, "connect");
  socket.write(bytes);
  return { socket, received };
}

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";

describe("one port for HTTP/1.1 and HTTP/2", () => {
  it("detects the protocol by the first bytes", async (t) => {
    const { url } = await listen(t);
    assert.equal(await (await fetch(url, { method: "POST", body: "x" })).text(), "HTTP/1.1");
    assert.equal(await postOverHttp2(url), "HTTP/2.0");
  });

  it("detects the protocol when the bytes arrive one by one", async (t) => {
    const { port } = await listen(t);
    for (const [bytes, answer] of [
      [preface, /^\0\0.\x04/s],
      ["PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", /^HTTP\/1\.1 200/],
    ] as const) {
      const { socket, received } = await open(port);
      socket.setNoDelay(true);
      for (const byte of bytes) {
        socket.write(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (bytes === preface) socket.once("data", () => socket.end());
      assert.match(await received, answer);
    }
  });
});

describe("a peer that stalls", () => {
  const limits = { headMs: 100, requestMs: 200, checkEveryMs: 20 };
  for (const [name, bytes, answer] of [
    ["sends nothing", "", /^$/],
    ["stops within the preface", preface.slice(0, 8), /^$/],
    ["stops within the request line", "POST /v1.Key", /^HTTP\/1\.1 408/],
    ["stops within the header", "POST / HTTP/1.1\r\nHost: a\r\n", /^HTTP\/1\.1 408/],
    ["stops within the body", `${head}abc`, /^(HTTP\/1\.1 408.*)?$/s],
    ["sends no request over HTTP/2", preface, /^\0\0/],
  ] as const) {
    it(`is disconnected when it ${name}`, async (t) => {
      const { port } = await listen(t, { limits });
      const { received } = await open(port, bytes);
      assert.match(await received, answer);
    });
  }

  it("is disconnected when it sends its body too slowly", async (t) => {
    const { port } = await listen(t, { limits });
    const { socket, received } = await open(port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n");
    const drip = setInterval(() => socket.write("x"), 10);
    await received;
    clearInterval(drip);
  });

  it("loses an HTTP/2 stream whose body does not end, while its session stays open", async (t) => {
    // The same limit ends an idle session, so it must be longer than a busy machine makes this process pause.
    const { url } = await listen(t, { limits: { ...limits, requestMs: 3000 } });
    const session = connect2(url);
    const stream = session.request({ ":path": "/", ":method": "POST" }, { endStream: false });
    let lost = false;
    stream.on("error", () => (lost = true));
    stream.write("x");
    // Other streams keep the session in use.
    while (!lost) await session.request({ ":path": "/" }).toArray();
    assert.equal(session.closed, false);
    session.close();
  });
});

describe("a client that does not read a small answer", () => {
  const limits = { unreadMs: 200, checkEveryMs: 20 };

  it("loses its HTTP/2 stream, while its session stays open", async (t) => {
    const { url } = await listen(t, { limits });
    const session = connect2(url, { settings: { initialWindowSize: 0 } });
    t.after(() => session.destroy());
    const stream = session.request({ ":path": "/", ":method": "POST" });
    stream.on("error", () => {});
    stream.end("x");
    await until("the stream to be closed", () => stream.closed);
    assert.equal(stream.rstCode, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    assert.equal(session.closed, false);
  });

  it("loses its HTTP/1.1 connection, even if it keeps sending", async (t) => {
    const { port, connections } = await listen(t, {
      limits,
      handle: (_, response) => response.end("x".repeat(60_000)),
    });
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    const send = () => socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100));
    const sending = setInterval(send, 20);
    t.after(() => {
      clearInterval(sending);
      socket.destroy();
    });
    await until("a connection", () => connections() === 1);
    await until("the connection to be closed", () => connections() === 0);
  });
});

describe("more connections than the share of one address", () => {
  const limits = { connections: 4 };

  async function getFrom(port: number, localAddress: string): Promise<string> {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return Buffer.concat(await socket.toArray()).toString();
  }

  /** A silent connection that the test destroys. */
  async function openSilent(port: number): Promise<Socket> {
    const { socket, received } = await open(port);
    received.catch(() => {});
    return socket;
  }

  it("get an honest 429 or GOAWAY, while other addresses are served", async (t) => {
    const { port } = await listen(t, { limits });
    const flood = [await openSilent(port), await openSilent(port), await openSilent(port)];
    const refusal = await getFrom(port, "127.0.0.1");
    assert.match(refusal, /^HTTP\/1\.1 429 [\s\S]*Retry-After: 5\r\n[\s\S]*"code":"resource_exhausted"/);
    assert.match(refusal, /google\.rpc\.RetryInfo/);
    const goaway = Buffer.from(await (await open(port, preface)).received, "latin1");
    assert.deepEqual([goaway[3], goaway[12], goaway.readUInt32BE(goaway.length - 4)], [4, 7, 11]);
    assert.match(await getFrom(port, "127.0.0.2"), /^HTTP\/1\.1 200/);
    flood[0]!.destroy();
    await until("a place", async () => (await getFrom(port, "127.0.0.1")).startsWith("HTTP/1.1 200"));
    for (const socket of flood) socket.destroy();
  });

  it("on a full port, an idle connection of the largest holder gives way, and one with a request in progress does not", async (t) => {
    const started = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const handle: Listener = (request, response) => {
      if (request.url !== "/slow") return void response.end("ok");
      started.resolve();
      void go.promise.then(() => response.end("done"));
    };
    const { port, url, connections } = await listen(t, { handle, limits });
    const busy = fetch(`${url}/slow`);
    await started.promise;
    const idle = [await openSilent(port), await openSilent(port)];
    const last = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
    last.on("error", () => {});
    await until("a full port", () => connections() === 4);
    assert.match(await getFrom(port, "127.0.0.3"), /^HTTP\/1\.1 200/);
    await until("an idle connection to end", () => idle.some((socket) => socket.closed));
    go.resolve();
    assert.equal(await (await busy).text(), "done");
    for (const socket of idle) socket.destroy();
    last.destroy();
  });
});

describe("stop", () => {
  /** A handler that answers only after `go` is called. */
  function held() {
    const requested = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const handle: Listener = (_request, response) => {
      requested.resolve();
      void go.promise.then(() => response.end("done"));
    };
    return { handle, requested: requested.promise, go: go.resolve };
  }

  it("closes idle connections of both protocols at once", async (t) => {
    const server = await listen(t);
    const agent = new Agent({ keepAlive: true });
    const idle = request1(server.url, { agent });
    idle.end();
    const [answer] = await once(idle, "response");
    answer.resume();
    await once(answer, "end");
    const session = connect2(server.url);
    await once(session, "remoteSettings");
    const silent = await open(server.port);
    const closed = once(session, "close");
    // Without a limit, stop returns only because every connection is closed.
    await server.stop(2 ** 30);
    await closed;
    await silent.received;
  });

  it("waits for a request in progress and answers it with connection: close", async (t) => {
    const { handle, requested, go } = held();
    const server = await listen(t, { handle });
    const answer = fetch(server.url);
    await requested;
    const stopped = server.stop(2 ** 30);
    await assert.rejects(fetch(`${server.url}/new`), /fetch failed/);
    go();
    const response = await answer;
    assert.equal(await response.text(), "done");
    assert.equal(response.headers.get("connection"), "close");
    await stopped;
  });

  it("waits for an HTTP/2 stream in progress", async (t) => {
    const { handle, requested, go } = held();
    const server = await listen(t, { handle });
    const answer = postOverHttp2(server.url);
    await requested;
    const stopped = server.stop(2 ** 30);
    go();
    assert.equal(await answer, "done");
    await stopped;
  });

  it("closes connections that are still busy after the limit", async (t) => {
    const { handle, requested } = held();
    const server = await listen(t, { handle });
    const answer = fetch(server.url);
    await requested;
    await server.stop(50);
    await assert.rejects(answer, /fetch failed/);
  });
});
