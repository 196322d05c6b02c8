import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { until } from "../../test/harness/wait.ts";
import { silentLog } from "../ops/log.ts";
import { createOpsListener, type OpsListenerDeps } from "./ops-listener.ts";
import type { Details } from "./readiness.ts";

const details: Details = {
  ready: true,
  version: "1.2.3",
  roles: ["dns"],
  ports: { pid: 1 },
  checks: { program: "ok", database: "ok" },
};

async function start(t: TestContext, options: Partial<OpsListenerDeps> = {}) {
  const listener = createOpsListener({
    host: "127.0.0.1",
    port: 0,
    chosen: true,
    log: silentLog(),
    token: undefined,
    details: async () => details,
    metrics: async () => ({ contentType: "text/plain; version=0.0.4", text: "a_metric 1\n" }),
    ...options,
  });
  const port = await listener.start();
  t.after(listener.stop);
  return { port, url: `http://127.0.0.1:${port}`, listener };
}

/** Sends the text on a new connection and returns everything received until it closes. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  socket.write(text);
  await once(socket, "close");
  return received;
}

test("the port serves health, readiness with details, and metrics", async (t) => {
  const { url } = await start(t);
  assert.equal(await (await fetch(`${url}/healthz`)).text(), "ok\n");
  const ready = await fetch(`${url}/readyz?verbose`);
  assert.deepEqual([ready.status, ready.headers.get("content-type")], [200, "application/json"]);
  assert.deepEqual(await ready.json(), details);
  const metrics = await fetch(`${url}/metrics`);
  assert.equal(metrics.headers.get("content-type"), "text/plain; version=0.0.4");
  assert.equal(await metrics.text(), "a_metric 1\n");
});

test("/readyz answers 503 with the reason while a check fails", async (t) => {
  const checks = { program: "stopping", database: "ok" };
  const { url } = await start(t, { details: async () => ({ ...details, ready: false, checks }) });
  const answer = await fetch(`${url}/readyz`);
  assert.equal(answer.status, 503);
  assert.deepEqual(((await answer.json()) as Details).checks, checks);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});

test("HEAD returns headers only, other methods get 405, other paths 404", async (t) => {
  const { url, port } = await start(t);
  const head = await fetch(`${url}/metrics`, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("content-length"), await head.text()], [200, "11", ""]);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const answer = await fetch(`${url}/readyz`, { method, body: method === "POST" ? "x".repeat(100_000) : undefined });
    assert.deepEqual([answer.status, answer.headers.get("allow")], [405, "GET, HEAD"], method);
  }
  for (const path of ["/", "/metrics/", "/METRICS", "//metrics", "/%6detrics", "/../metrics"]) {
    const answer = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 404 /, path);
  }
});

test("a request body is never parsed as the next request", async (t) => {
  const { port } = await start(t);
  const inner = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const outer = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${inner.length}\r\n\r\n`;
  const received = await exchange(port, outer + inner);
  assert.equal(received.match(/HTTP\/1\.1 /g)?.length, 1);
  assert.match(received, /ok\n$/);
});

test("on loopback, a request with a foreign Host is refused, against DNS rebinding", async (t) => {
  const { port } = await start(t);
  const statusFor = (host: string) =>
    new Promise<number | undefined>((resolve, reject) =>
      httpRequest({ port, path: "/metrics", headers: { host } }, (answer) => resolve(answer.resume().statusCode))
        .on("error", reject)
        .end(),
    );
  for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8826"])
    assert.equal(await statusFor(host), 200, host);
  for (const host of ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "[evil]", "a:b:c"])
    assert.equal(await statusFor(host), 403, host);
  assert.match(
    await exchange(port, "GET /readyz HTTP/1.0\r\n\r\n"),
    /^HTTP\/1\.1 200 /,
    "an HTTP/1.0 check sends no Host",
  );
});

test("outside loopback, details and metrics need the token; the status does not", async (t) => {
  const token = "0123456789abcdef";
  const { url } = await start(t, { host: "0.0.0.0", token });
  const get = (path: string, authorization?: string) =>
    fetch(url + path, { headers: authorization ? { authorization } : {} });
  for (const wrong of [undefined, token, "Bearer", `Bearer ${token}0`, "Bearer undefined"]) {
    const answer = await get("/metrics", wrong);
    assert.deepEqual([answer.status, answer.headers.get("www-authenticate")], [401, 'Bearer realm="metrics"']);
    assert.deepEqual(await (await get("/readyz", wrong)).json(), { ready: true });
  }
  assert.equal((await get("/healthz")).status, 200);
  assert.equal((await get("/metrics", `Bearer ${token}`)).status, 200);
  assert.deepEqual(await (await get("/readyz", `Bearer ${token}`)).json(), details);
});

test("outside loopback without a configured token, metrics are refused", async (t) => {
  const { url } = await start(t, { host: "0.0.0.0" });
  const headers = { authorization: "Bearer undefined" };
  assert.equal((await fetch(`${url}/metrics`, { headers })).status, 401);
});

test("malformed and oversized requests are refused, and slow ones are closed", async (t) => {
  const { port, url } = await start(t, { limits: { headMs: 500, requestMs: 1_000, idleMs: 1_500 } });
  assert.match(await exchange(port, "rubbish\r\n\r\n"), /^HTTP\/1\.1 400 /);
  assert.match(await exchange(port, `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  assert.match(await exchange(port, "GET /metrics HTTP/1.1\r\nHost: loc"), /^(HTTP\/1\.1 408 |$)/);
  assert.match(await exchange(port, ""), /^(HTTP\/1\.1 408 |$)/);
  await until(
    "an answer to other clients",
    async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.status === 200,
  );
});

test("an address gets its share of the connections, another one still gets in, and closed ones are given back", async (t) => {
  const { port, url } = await start(t, { limits: { connections: 4 } });
  const sockets: Socket[] = [];
  for (let i = 0; i < 3; i++) {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    // A response proves that the server has accepted the connection.
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "data");
    sockets.push(socket);
  }
  assert.equal(await exchange(port, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), "", "a fourth one is closed");
  const other = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
  other.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  assert.match(String(await once(other, "data")), /^HTTP\/1\.1 200/);
  other.destroy();
  for (const socket of sockets) socket.destroy();
  await until("an answer again", async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.status === 200);
});

test("a free port replaces a default port that is taken, but not a chosen one", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  t.after(() => other.close());
  const { port } = other.address() as { port: number };
  const found = await start(t, { port, chosen: false });
  assert.notEqual(found.port, port);
  assert.equal((await fetch(`${found.url}/healthz`)).status, 200);
  await assert.rejects(start(t, { port, chosen: true }), { code: "EADDRINUSE" });
});

test("stop lets a response in progress finish, and does not wait for one that never ends", async (t) => {
  let finish = () => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const requested: string[] = [];
  const { listener, url } = await start(t, {
    limits: { stopMs: 2_000 },
    async details() {
      requested.push("readyz");
      await gate;
      return details;
    },
    metrics() {
      requested.push("metrics");
      return new Promise(() => {});
    },
  });
  const answer = fetch(`${url}/readyz`);
  const never = fetch(`${url}/metrics`).catch((error: Error) => error);
  await until("both requests to arrive", async () => requested.length === 2);
  const stopped = listener.stop();
  finish();
  assert.equal((await answer).status, 200);
  assert.ok((await never) instanceof Error);
  await stopped;
  await assert.rejects(fetch(`${url}/healthz`));
});

test("an internal failure is answered with 500, and the listener keeps running", async (t) => {
  const { url } = await start(t, { metrics: () => Promise.reject(new Error("broken")) });
  assert.equal((await fetch(`${url}/metrics`)).status, 500);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});
