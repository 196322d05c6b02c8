import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { exchangeUdp } from "./transport-udp.ts";

const signal = new AbortController().signal;
const query = Buffer.from("question");
const take = (reply: Buffer) => (String(reply).startsWith("answer") ? String(reply) : undefined);

test("a datagram that is not the answer is ignored, and the answer is returned", async (t) => {
  const server = createSocket("udp4");
  t.after(() => server.close());
  server.on("message", (_, from) => {
    server.send("noise", from.port, from.address);
    server.send("answer", from.port, from.address);
  });
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const at = { host: "127.0.0.1", port: server.address().port };
  assert.deepEqual(await exchangeUdp({ server: at, query, accept: take, timeoutMs: 30_000, signal }), {
    kind: "reply",
    reply: "answer",
  });
});

test("a server that cannot be connected to is unreachable", async () => {
  // The kernel rejects both at once, as it rejects every address on a machine without a route.
  for (const host of ["255.255.255.255", "fe80::1"])
    assert.deepEqual(
      await exchangeUdp({ server: { host, port: 53 }, query, accept: take, timeoutMs: 30_000, signal }),
      { kind: "unreachable" },
      host,
    );
});

test("an aborted query and a query without an answer are timeouts", async (t) => {
  const server = createSocket("udp4");
  t.after(() => server.close());
  server.bind(0, "127.0.0.1");
  await once(server, "listening");
  const at = { host: "127.0.0.1", port: server.address().port };
  const ask = (timeoutMs: number, signal: AbortSignal) =>
    exchangeUdp({ server: at, query, accept: take, timeoutMs, signal });
  assert.deepEqual(await ask(30_000, AbortSignal.abort()), { kind: "timeout" });
  assert.deepEqual(await ask(1, signal), { kind: "timeout" });
  const later = new AbortController();
  const waiting = ask(30_000, later.signal);
  later.abort();
  assert.deepEqual(await waiting, { kind: "timeout" });
});
