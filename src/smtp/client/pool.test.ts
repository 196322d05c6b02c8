import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { startSink } from "../../../test/harness/sink.ts";
import { on, type SinkOptions, scripts } from "../../../test/harness/sink-script.ts";
import { until } from "../../../test/harness/wait.ts";
import { createPool, type PoolOptions } from "./pool.ts";
import type { TransactionResult } from "./session.ts";
import type { Target } from "./target.ts";

async function start(t: TestContext, sinkOptions: SinkOptions = {}, poolOptions: PoolOptions = {}) {
  const sink = await startSink(sinkOptions);
  const pool = createPool(poolOptions);
  t.after(async () => {
    await pool.stop(0);
    await sink.close();
  });
  const target = (host = "mx.example.test"): Target => ({
    host,
    address: "127.0.0.1",
    port: sink.port,
    heloName: "posthorn.example",
    tls: "none",
  });
  const send = (name: string, more: { host?: string; signal?: AbortSignal; limit?: number } = {}) =>
    pool.transact({
      target: target(more.host),
      message: {
        from: "s@example.com",
        recipients: [`${name}@example.test`],
        data: Buffer.from(`Subject: ${name}\r\n\r\n`),
      },
      ...(more.signal && { signal: more.signal }),
      ...(more.limit && { limit: more.limit }),
    });
  return { sink, pool, send };
}

const kind = (result: TransactionResult) => result.recipients[0]?.result.kind;

/** The sink accepts DATA and reads no further until `sink.release()`. */
const hold = on("data", { reply: "354 go", after: "pause" });

test("an idle session is reused for the next message", async (t) => {
  const { sink, pool, send } = await start(t);
  for (const name of ["a", "b", "c"]) assert.equal(kind(await send(name)), "accepted");
  assert.equal(sink.connections.opened, 1);
  assert.deepEqual(pool.stats(), { open: 1, idle: 1, waiting: 0 });
});

test("different hosts do not share a session", async (t) => {
  const { sink, send } = await start(t);
  await send("a", { host: "mx1.example.test" });
  await send("b", { host: "mx2.example.test" });
  assert.equal(sink.connections.opened, 2);
});

test("connections to a destination stay within the limit, and all messages are sent", async (t) => {
  const { sink, send } = await start(t, {}, { perDestination: 3 });
  const results = await Promise.all(Array.from({ length: 50 }, (_, i) => send(`m${i}`)));
  assert.ok(results.every((result) => kind(result) === "accepted"));
  assert.equal(sink.connections.peak, 3);
  assert.equal(sink.accepted, 50);
});

test("a request can lower the limit of its destination", async (t) => {
  const { sink, send } = await start(t, {}, { perDestination: 5 });
  await Promise.all(Array.from({ length: 20 }, (_, i) => send(`m${i}`, { limit: 2 })));
  assert.equal(sink.connections.peak, 2);
});

test("the total of connections stays within the limit: idle sessions are closed for waiting requests", async (t) => {
  const { sink, send } = await start(t, {}, { total: 2 });
  for (const host of ["a.test", "b.test", "c.test", "d.test"])
    assert.equal(kind(await send("x", { host })), "accepted");
  const hosts = Array.from({ length: 10 }, (_, i) => `h${i}.test`);
  const results = await Promise.all(hosts.map((host) => send("y", { host })));
  assert.ok(results.every((result) => kind(result) === "accepted"));
  assert.equal(sink.connections.peak, 2);
});

test("waiting requests are served in the order of arrival", async (t) => {
  const { sink, pool, send } = await start(t, { script: hold }, { perDestination: 1 });
  const sent = ["a", "b", "c", "d"].map((name) => send(name));
  await until("the pool", () => pool.stats().waiting === 3);
  sink.script = () => undefined;
  sink.release();
  await Promise.all(sent);
  assert.deepEqual(
    sink.deliveries.map((delivery) => delivery.recipients[0]),
    ["a", "b", "c", "d"].map((name) => `${name}@example.test`),
  );
});

test("an aborted signal removes its request from the queue and no other", async (t) => {
  const { sink, pool, send } = await start(t, { script: hold }, { perDestination: 1 });
  const stop = new AbortController();
  const first = send("a");
  const second = send("b", { signal: stop.signal });
  const third = send("c");
  await until("the pool", () => pool.stats().waiting === 2);
  stop.abort();
  assert.equal(kind(await second), "aborted");
  sink.script = () => undefined;
  sink.release();
  assert.deepEqual([kind(await first), kind(await third)], ["accepted", "accepted"]);
  assert.equal(kind(await send("d", { signal: AbortSignal.abort() })), "aborted");
});

test("a session is closed after its maximum number of messages and at its maximum age", async (t) => {
  const few = await start(t, {}, { maxTransactions: 2 });
  for (const name of ["a", "b", "c", "d", "e"]) await few.send(name);
  assert.equal(few.sink.connections.opened, 3);

  let time = 0;
  const old = await start(t, {}, { maxAgeMs: 1000, now: () => time });
  await old.send("a");
  time = 1000;
  await old.send("b");
  await old.send("c");
  assert.equal(old.sink.connections.opened, 2);
});

test("an idle session sends QUIT after its idle time", async (t) => {
  const { sink, pool, send } = await start(t, {}, { idleMs: 20 });
  await send("a");
  await sink.until((s) => s.connections.open === 0);
  assert.ok(sink.commands.some((command) => command.line === "QUIT"));
  await until("the pool", () => pool.stats().open === 0);
});

test("a session that the server closed while idle is replaced", async (t) => {
  const { pool, send } = await start(t, { script: on("dot", { reply: "250 ok", after: "close" }) });
  assert.equal(kind(await send("a")), "accepted");
  await until("the pool", () => pool.stats().open === 0);
  assert.equal(kind(await send("b")), "accepted");
});

for (const [name, action] of [
  ["drops", "close"],
  ["answers 421", { reply: "421 4.4.2 Too many messages here", after: "close" }],
] as const) {
  test(`a reused session that ${name} at MAIL is replaced at once by a new one`, async (t) => {
    const script = on("mail", ({ transaction }) => (transaction === 2 ? action : undefined));
    const { sink, send } = await start(t, { script });
    for (const message of ["a", "b", "c"]) assert.equal(kind(await send(message)), "accepted");
    assert.equal(sink.connections.opened, 3);
  });
}

test("421 at MAIL on a new connection is not retried", async (t) => {
  const { sink, send } = await start(t, { script: on("mail", { reply: "421 4.7.0 Slow down", after: "close" }) });
  assert.equal(kind(await send("a")), "refused");
  assert.equal(sink.connections.opened, 1);
});

test("one failed connection fails all requests that wait for the same address", async (t) => {
  const { sink, send } = await start(
    t,
    { script: on("connect", { reply: "554 5.7.1 No", after: "close" }) },
    { perDestination: 1 },
  );
  const results = await Promise.all(Array.from({ length: 20 }, (_, i) => send(`m${i}`)));
  assert.ok(results.every((result) => kind(result) === "refused" && result.stage === "banner"));
  assert.equal(sink.connections.opened, 1);
});

test("a server that allows two connections gets all messages over these two", async (t) => {
  const script = scripts(
    on("connect", ({ connection }) =>
      connection > 2 ? { reply: "421 4.7.0 Too many connections", after: "close" } : undefined,
    ),
  );
  const { sink, send } = await start(t, { script }, { perDestination: 10 });
  await send("first");
  const results = await Promise.all(Array.from({ length: 30 }, (_, i) => send(`m${i}`)));
  assert.ok(results.every((result) => kind(result) === "accepted"));
  assert.equal(sink.accepted, 31);
});

test("stop lets running transactions finish and rejects new requests", async (t) => {
  const { sink, pool, send } = await start(t, { script: hold }, { perDestination: 1 });
  const working = send("a");
  const waiting = send("b");
  await sink.until((s) => s.deliveries.length === 1);
  const stopped = pool.stop(10_000);
  assert.equal(kind(await waiting), "aborted");
  assert.equal(kind(await send("c")), "aborted");
  sink.release();
  assert.equal(kind(await working), "accepted");
  await stopped;
  assert.deepEqual(pool.stats(), { open: 0, idle: 0, waiting: 0 });
});

test("stop aborts a transaction that does not finish in time and reports it as in doubt", async (t) => {
  const { sink, pool, send } = await start(t, { script: on("dot", "silence") });
  const working = send("a");
  await sink.until((s) => s.deliveries[0]?.complete === true);
  await pool.stop(10);
  const result = await working;
  assert.deepEqual([kind(result), result.inDoubt], ["aborted", true]);
  await sink.until((s) => s.connections.open === 0);
});

test("stop aborts a connection that is still opening", async (t) => {
  const { sink, pool, send } = await start(t, { script: on("connect", "silence") });
  const working = send("a");
  await sink.until((s) => s.connections.open === 1);
  await pool.stop(10);
  assert.equal(kind(await working), "aborted");
});
