import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connect2 } from "node:http2";
import { connect } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { type RpcServer, startRpcServer } from "../../test/harness/rpc-server.ts";
import { until } from "../../test/harness/wait.ts";
import { EmailService, type SendEmailRequest } from "../gen/v1/email_pb.ts";
import { createLoopShare } from "../shares/loop-share.ts";
import { createAnswerMemory } from "./answer-memory.ts";
import { serve } from "./call.ts";
import type { BodyMemory } from "./request-body.ts";

const path = "/v1.EmailService/SendEmail";
const allowed = "https://app.example";
const large = 2 * 1024 * 1024;
let server: RpcServer;
let port: number;
let bodies: BodyMemory;
let headers: Record<string, string>;
const seen: SendEmailRequest[] = [];
const answers = createAnswerMemory();
/** The owners that asked for a turn before the gate. */
const turns: string[] = [];
/** The wait of getEmailContent: `begin` is called when it starts, `reserve` ends it, and `outcome` is that of its reservation. */
const abandoned = { begin: () => {}, reserve: () => {}, outcome: "" };

before(async () => {
  const loop = createLoopShare();
  const service = serve(EmailService, {
    sendEmail: async (request) => {
      seen.push(request);
      return { id: "em_x" };
    },
    async getEmailContent(_request, call) {
      const reserve = new Promise<void>((resolve) => (abandoned.reserve = resolve));
      abandoned.begin();
      await reserve;
      abandoned.outcome = await call.reserveAnswer!(large).then(
        () => "granted",
        ({ code }) => code,
      );
      return {};
    },
  });
  server = await startRpcServer({
    services: [service],
    maxBodyBytes: 4 * large,
    bodyMemoryBytes: 2 * large,
    answers,
    loop,
    dispatch: {
      loop: {
        ...loop,
        turn(owner) {
          turns.push(owner);
          return loop.turn(owner);
        },
      },
      trustedProxies: ["127.0.0.0/8"],
      corsOrigins: [allowed],
    },
  });
  ({ port, bodies } = server);
  headers = {
    authorization: server.authorization,
    "content-type": "application/json",
    "connect-protocol-version": "1",
  };
});
after(async () => await server.stop());

const url = () => `http://127.0.0.1:${port}${path}`;

/** Starts a request with this Content-Length, sends a part of its body, and collects what the server answers. */
async function unfinished(length: number, sent: number, extra: Record<string, string>) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const fields = Object.entries({ host: "a", "content-length": String(length), ...headers, ...extra });
  socket.write(`POST ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}`).join("\r\n")}\r\n\r\n`);
  socket.write(`{"body":"${"x".repeat(sent)}`);
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  return { socket, received: () => received };
}
/** Holds timers of this length back until `pass` is called. Timers of other lengths are real. */
function holdTimer(t: TestContext, ms: number) {
  const real = globalThis.setTimeout;
  const held: (() => void)[] = [];
  const mocked = t.mock.method(globalThis, "setTimeout", (work: () => void, delayMs?: number, ...args: []) => {
    if (delayMs === ms) held.push(work);
    return real(work, delayMs, ...args);
  });
  return {
    ms,
    pass() {
      mocked.mock.restore();
      assert.equal(held.length, 1);
      held[0]!();
    },
  };
}
const memoryIsFree = () => until("the memory to be released", () => bodies.usedBytes() === 0);

test("a large request is read completely, and its memory is released", async () => {
  const body = "ä😀".repeat(large / 8);
  const answer = await fetch(url(), { method: "POST", headers, body: JSON.stringify({ body, attachments: [] }) });
  assert.equal(answer.status, 200);
  assert.equal(seen.find((request) => request.body.length > 100)!.body, body);
  await memoryIsFree();
});

for (const [size, length] of [
  ["large", large],
  ["small", 10_000],
] as const)
  test(`a call whose ${size} body does not arrive ends at its deadline`, async () => {
    const { socket, received } = await unfinished(length, 5000, { "connect-timeout-ms": "200" });
    await until("an answer", () => received().includes("\r\n\r\n{"));
    assert.match(received(), /^HTTP\/1\.1 504 [\s\S]*"code":"deadline_exceeded"/);
    await memoryIsFree();
    socket.destroy();
  });

test("a call over HTTP/2 whose body does not arrive ends at its deadline", async () => {
  const session = connect2(`http://127.0.0.1:${port}`);
  const request = { ":method": "POST", ":path": path, "content-length": String(large), "connect-timeout-ms": "200" };
  const stream = session.request({ ...request, ...headers });
  stream.on("error", () => {});
  stream.write(`{"body":"${"x".repeat(100_000)}`);
  await until("its memory to be reserved", () => bodies.usedBytes() === large);
  let received = "";
  stream.setEncoding("utf8").on("data", (text) => (received += text));
  await until("an answer", () => received.includes("}"));
  assert.match(received, /deadline_exceeded/);
  await memoryIsFree();
  session.destroy();
});

test("the memory of a large body is released when the client disconnects", async () => {
  const { socket } = await unfinished(large, 100_000, {});
  await until("its memory to be reserved", () => bodies.usedBytes() === large);
  socket.destroy();
  await memoryIsFree();
});

test("a large request without a valid key is refused before its body is read, and its connection is closed", async () => {
  const { socket, received } = await unfinished(large, 0, { authorization: "Bearer unknown-key" });
  await once(socket, "end");
  assert.match(received(), /^HTTP\/1\.1 401 [\s\S]*connection: close[\s\S]*"unauthenticated"/i);
  assert.equal(bodies.usedBytes(), 0);
});

test("responses have the security headers, and an allowed origin may read them", async () => {
  const own = await fetch(url(), { method: "POST", headers, body: "{}" });
  const other = await fetch(url(), { method: "POST", headers: { ...headers, origin: allowed }, body: "{}" });
  for (const { headers: got } of [own, other]) {
    assert.match(got.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(
      ["x-content-type-options", "x-frame-options", "cache-control"].map((name) => got.get(name)),
      ["nosniff", "DENY", "no-store"],
    );
  }
  const policy = "cross-origin-resource-policy";
  assert.deepEqual([own.headers.get(policy), other.headers.get(policy)], ["same-origin", "cross-origin"]);
  assert.equal(other.headers.get("access-control-allow-origin"), allowed);
});

for (const [path, type] of [
  ["the fast path", "application/json"],
  ["Connect", "application/proto"],
] as const)
  test(`a handler that reserves memory after the deadline of its call gets none (${path})`, async (t) => {
    abandoned.outcome = "";
    const begun = new Promise<void>((resolve) => (abandoned.begin = resolve));
    // Its deadline passes once the handler waits. On a busy machine, a real one could pass before the handler starts.
    const deadline = holdTimer(t, 77_777_777);
    const answering = fetch(`http://127.0.0.1:${port}/v1.EmailService/GetEmailContent`, {
      method: "POST",
      headers: { ...headers, "content-type": type, "connect-timeout-ms": String(deadline.ms) },
      body: type === "application/json" ? "{}" : new Uint8Array(),
    });
    await begun;
    deadline.pass();
    const answer = await answering;
    assert.equal(answer.status, 504);
    await answer.text();
    abandoned.reserve();
    await until("the reservation to end", () => abandoned.outcome !== "");
    assert.equal(abandoned.outcome, "deadline_exceeded");
    assert.equal(answers.usedBytes(), 0);
  });

test("streams take turns by the network of their client, not by the key that they name", async () => {
  for (const key of ["one", "two"]) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1.EmailService/StreamEvents`, {
      method: "POST",
      headers: {
        ...headers,
        authorization: `Bearer ${key}`,
        "content-type": "application/connect+json",
        "x-forwarded-for": "192.0.2.1:5678",
      },
      body: new Uint8Array(5),
    });
    assert.match(await answer.text(), /unauthenticated/);
  }
  assert.deepEqual(turns, ["192.0.2.1", "192.0.2.1"]);
});
