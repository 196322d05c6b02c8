import assert from "node:assert/strict";
import net from "node:net";
import test, { type TestContext } from "node:test";
import { byRecipient, on, type Sink, type SinkOptions, startSink, testCertificate } from "../../test/harness/sink.ts";
import type { Lookup } from "../mail/dns-record.ts";
import { createPool } from "./pool.ts";
import type { MxResolver } from "./route.ts";
import { createSender, type SendRequest, type SendResult } from "./send.ts";

const { key, cert, ca } = testCertificate();

/** MX hosts of x.test in order of preference, each with its addresses; an unknown host has none. */
function zone(hosts: Record<string, readonly string[]>): MxResolver {
  return {
    async lookup(name, type) {
      const found =
        type === "MX"
          ? Object.keys(hosts).map((exchange, priority) => ({ exchange, priority }))
          : (hosts[name] ?? []).filter((ip) => ip.includes(":") === (type === "AAAA")).map((address) => ({ address }));
      const kind = found.length > 0 ? "found" : "nodata";
      return { kind, records: found, chain: [], ttlSeconds: 60 } as unknown as Lookup<typeof type>;
    },
  };
}

/** Sinks on neighbouring loopback addresses and one port, as the hosts of one domain are. */
async function start(
  t: TestContext,
  sinks: Record<string, SinkOptions>,
  hosts: Record<string, readonly string[]>,
  more = {},
) {
  const started: Sink[] = [];
  let port = 0;
  for (const [host, options] of Object.entries(sinks)) {
    const sink = await startSink({ ...options, host, port });
    started.push(sink);
    port = sink.port;
  }
  const pool = createPool({ timeouts: { tlsMs: 500 } });
  t.after(async () => {
    await pool.stop(0);
    await Promise.all(started.map((sink) => sink.close()));
  });
  const sender = createSender({ pool, resolver: zone(hosts), random: () => 0.999, allowAddress: () => true, ...more });
  const send = (request: Partial<SendRequest> = {}) =>
    sender.send({
      message: { from: "s@example.com", recipients: ["a@x.test"], data: Buffer.from("Subject: x\r\n\r\n") },
      to: { domain: "x.test", port },
      heloName: "posthorn.example",
      tls: "opportunistic",
      ...request,
    });
  return { sinks: started, port, send };
}

function summary(result: SendResult) {
  const evidence = result.recipients[0]?.result;
  return [evidence?.kind, result.remote?.address, result.tried.map((attempt) => attempt.address)];
}

test("the best host takes the message", async (t) => {
  const { send } = await start(
    t,
    { "127.0.0.2": {}, "127.0.0.3": {} },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
  );
  const result = await send();
  assert.deepEqual(summary(result), ["accepted", "127.0.0.2", []]);
  assert.equal(result.remote?.host, "mx1.x.test");
});

for (const [name, options] of [
  ["refuses in its banner", { script: on("connect", { reply: "554 5.7.1 No", after: "close" }) }],
  ["refuses EHLO", { script: on("ehlo", "421 4.3.2 Not now") }],
  ["drops", { script: on("connect", "close") }],
  ["closes with 421 at MAIL", { script: on("mail", { reply: "421 4.3.2 Closing", after: "close" }) }],
] as [string, SinkOptions][]) {
  test(`the next host takes it when the first ${name}`, async (t) => {
    const { send } = await start(
      t,
      { "127.0.0.2": options, "127.0.0.3": {} },
      { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
    );
    assert.deepEqual(summary(await send()), ["accepted", "127.0.0.3", ["127.0.0.2"]]);
  });
}

test("nobody listens at one address of a host, somebody at the next", async (t) => {
  const { send } = await start(t, { "127.0.0.3": {} }, { "mx1.x.test": ["127.0.0.2", "127.0.0.3"] });
  assert.deepEqual(summary(await send()), ["accepted", "127.0.0.3", ["127.0.0.2"]]);
});

test("a refused recipient is an answer: the next host is not asked", async (t) => {
  const { sinks, send } = await start(
    t,
    { "127.0.0.2": { script: byRecipient({ a: "450 4.2.0 Greylisted" }) }, "127.0.0.3": {} },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
  );
  assert.deepEqual(summary(await send()), ["refused", "127.0.0.2", []]);
  assert.equal(sinks[1]?.connections.opened, 0);
});

test("when all fail, what the last one did is the evidence", async (t) => {
  const { send } = await start(
    t,
    { "127.0.0.3": { script: on("connect", "554 5.3.2 Closed") } },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"], "mx3.x.test": [] },
  );
  const result = await send();
  assert.deepEqual(summary(result), ["refused", "127.0.0.3", ["127.0.0.2", "127.0.0.3"]]);
  assert.equal(result.stage, "banner");
});

test("no more connections than allowed for one message", async (t) => {
  const addresses = Array.from({ length: 6 }, (_, i) => `127.0.1.${i + 1}`);
  const { send } = await start(t, { "127.0.0.2": {} }, { "mx1.x.test": addresses, "mx2.x.test": addresses });
  assert.equal((await send()).tried.length, 5);
});

test("IPv6 that this machine does not have is tried once, then left alone", async (t) => {
  let time = 0;
  // A connection to a multicast address fails in the kernel: nothing is sent.
  const { send } = await start(
    t,
    { "127.0.0.2": { script: on("dot", { reply: "250 ok", after: "close" }) } },
    { "mx1.x.test": ["ff02::1", "127.0.0.2"], "mx2.x.test": ["ff02::2"] },
    { now: () => time },
  );
  assert.deepEqual(summary(await send()), ["accepted", "127.0.0.2", ["ff02::1"]]);
  assert.deepEqual(summary(await send()), ["accepted", "127.0.0.2", []]);
  time = 3_600_000;
  assert.deepEqual(summary(await send()), ["accepted", "127.0.0.2", ["ff02::1"]]);
});

test("a source address reaches only its own family", async (t) => {
  const { send } = await start(t, { "127.0.0.2": {} }, { "mx1.x.test": ["ff02::1", "127.0.0.2"] });
  const result = await send({
    sourceFor: (address) =>
      net.isIPv4(address) ? { localAddress: "127.0.0.9", heloName: "nine.example.test" } : undefined,
  });
  assert.deepEqual(summary(result), ["accepted", "127.0.0.2", []]);
  assert.equal(result.localAddress, "127.0.0.9");
});

const brokenTls: SinkOptions = { tls: { key, cert }, script: on("starttls", { reply: "220 go", after: "rubbish" }) };

test("broken STARTTLS: again at once in clear on a new connection, and known for the next message", async (t) => {
  const { sinks, send } = await start(t, { "127.0.0.2": brokenTls }, { "mx1.x.test": ["127.0.0.2"] });
  const result = await send();
  assert.deepEqual(summary(result), ["accepted", "127.0.0.2", []]);
  assert.equal(result.tls, null);
  assert.equal(sinks[0]?.connections.opened, 2);
  await send();
  assert.equal(sinks[0]?.connections.opened, 2);
});

for (const tls of ["required", "verified"] as const) {
  test(`broken STARTTLS where it is ${tls}: never in clear`, async (t) => {
    const { sinks, send } = await start(t, { "127.0.0.2": brokenTls }, { "mx1.x.test": ["127.0.0.2"] });
    assert.deepEqual(summary(await send({ tls })), ["tls", "127.0.0.2", ["127.0.0.2"]]);
    assert.equal(sinks[0]?.accepted, 0);
    assert.equal(sinks[0]?.connections.opened, 1);
  });
}

test("good STARTTLS is used", async (t) => {
  const { send } = await start(t, { "127.0.0.2": { tls: { key, cert } } }, { "mx1.x.test": ["127.0.0.2"] });
  assert.equal((await send()).tls?.protocol, "TLSv1.3");
});

test("a private MX host is refused, one beside it is used, none but it is final", async (t) => {
  const allowAddress = (ip: string) => ip !== "127.0.0.2";
  const only = await start(t, { "127.0.0.2": {} }, { "mx1.x.test": ["127.0.0.2"] }, { allowAddress });
  const refused = await only.send();
  assert.deepEqual(refused.recipients[0]?.result, {
    kind: "unroutable",
    reason: "address-refused",
    message: "mx1.x.test is at 127.0.0.2, a private or reserved address that mail is not sent to",
  });
  assert.equal(only.sinks[0]?.connections.opened, 0);
  const hosts = { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] };
  const both = await start(t, { "127.0.0.2": {}, "127.0.0.3": {} }, hosts, { allowAddress });
  assert.deepEqual(summary(await both.send()), ["accepted", "127.0.0.3", []]);
});

test("a host that cannot be reached now outweighs one that does not exist", async (t) => {
  const { send } = await start(t, { "127.0.0.9": {} }, { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": [] });
  assert.equal((await send()).recipients[0]?.result.kind, "lost");
});

test("a relay: its name as it is, AUTH over verified TLS, private addresses allowed", async (t) => {
  const auth = { user: "u", password: "p" };
  const { sinks, port, send } = await start(
    t,
    { "127.0.0.1": { tls: { key, cert }, auth } },
    {},
    { allowAddress: () => false },
  );
  const result = await send({ to: { relay: { host: "127.0.0.1", port, auth, tlsCa: ca } }, tls: "verified" });
  assert.equal(result.recipients[0]?.result.kind, "accepted", JSON.stringify(result));
  assert.equal(sinks[0]?.deliveries[0]?.user, "u");
  assert.equal(result.tls?.authorized, true);
});

test("only hosts that a policy allows", async (t) => {
  const { send } = await start(
    t,
    { "127.0.0.2": {}, "127.0.0.3": {} },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
  );
  assert.deepEqual(summary(await send({ allowHost: (host) => host === "mx2.x.test" })), ["accepted", "127.0.0.3", []]);
  assert.deepEqual(summary(await send({ allowHost: () => false })), ["tls", undefined, []]);
});

test("a signal stops before the next address", async (t) => {
  const stop = new AbortController();
  const script = on("ehlo", () => {
    stop.abort();
    return "silence";
  });
  const { sinks, send } = await start(
    t,
    { "127.0.0.2": { script }, "127.0.0.3": {} },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
  );
  assert.equal((await send({ signal: stop.signal })).recipients[0]?.result.kind, "aborted");
  assert.equal(sinks[1]?.connections.opened, 0);
});
