import assert from "node:assert/strict";
import net from "node:net";
import test, { type TestContext } from "node:test";
import { type Sink, startSink, testCertificate } from "../../../test/harness/sink.ts";
import { byRecipient, on, type SinkOptions } from "../../../test/harness/sink-script.ts";
import type { Lookup } from "../../dns/record.ts";
import { createPool } from "./pool.ts";
import type { MxResolver } from "./route.ts";
import { createSmtpSender, type SmtpDelivery, type SmtpDeliveryResult } from "./send.ts";

const { key, cert, ca } = testCertificate();

/** The MX hosts of x.test in order of preference, each with its addresses; any other host has none. */
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

/** Starts one sink per loopback address, all on one port, as the hosts of one domain. */
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
  const sender = createSmtpSender({
    pool,
    resolver: zone(hosts),
    random: () => 0.999,
    allowAddress: () => true,
    ...more,
  });
  const send = (request: Partial<SmtpDelivery> = {}) =>
    sender.send({
      message: { from: "s@example.com", recipients: ["a@x.test"], data: Buffer.from("Subject: x\r\n\r\n") },
      to: { domain: "x.test", port },
      heloName: "posthorn.example",
      tls: "opportunistic",
      ...request,
    });
  return { sinks: started, port, send };
}

function summary(result: SmtpDeliveryResult) {
  const evidence = result.recipients[0]?.result;
  return [evidence?.kind, result.remote?.address, result.tried.map((attempt) => attempt.address)];
}

test("the message goes to the host with the best preference", async (t) => {
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
  ["drops the connection", { script: on("connect", "close") }],
  ["closes with 421 at MAIL", { script: on("mail", { reply: "421 4.3.2 Closing", after: "close" }) }],
] as [string, SinkOptions][]) {
  test(`the message goes to the next host when the first ${name}`, async (t) => {
    const { send } = await start(
      t,
      { "127.0.0.2": options, "127.0.0.3": {} },
      { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
    );
    assert.deepEqual(summary(await send()), ["accepted", "127.0.0.3", ["127.0.0.2"]]);
  });
}

test("when one address of a host refuses the connection, the next one is tried", async (t) => {
  const { send } = await start(t, { "127.0.0.3": {} }, { "mx1.x.test": ["127.0.0.2", "127.0.0.3"] });
  assert.deepEqual(summary(await send()), ["accepted", "127.0.0.3", ["127.0.0.2"]]);
});

test("a refused recipient is final: the next host is not tried", async (t) => {
  const { sinks, send } = await start(
    t,
    { "127.0.0.2": { script: byRecipient({ a: "450 4.2.0 Greylisted" }) }, "127.0.0.3": {} },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
  );
  assert.deepEqual(summary(await send()), ["refused", "127.0.0.2", []]);
  assert.equal(sinks[1]?.connections.opened, 0);
});

test("when all hosts fail, the evidence is that of the last one", async (t) => {
  const { send } = await start(
    t,
    { "127.0.0.3": { script: on("connect", "554 5.3.2 Closed") } },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"], "mx3.x.test": [] },
  );
  const result = await send();
  assert.deepEqual(summary(result), ["refused", "127.0.0.3", ["127.0.0.2", "127.0.0.3"]]);
  assert.equal(result.stage, "banner");
});

test("at most five addresses are tried for one message", async (t) => {
  const addresses = Array.from({ length: 6 }, (_, i) => `127.0.1.${i + 1}`);
  const { send } = await start(t, { "127.0.0.2": {} }, { "mx1.x.test": addresses, "mx2.x.test": addresses });
  assert.equal((await send()).tried.length, 5);
});

test("on a machine without IPv6 one attempt fails, and IPv6 addresses are skipped for a while", async (t) => {
  let time = 0;
  // A connection to a multicast address fails in the kernel without any packet.
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

test("addresses without a source address of their family are skipped", async (t) => {
  const { send } = await start(t, { "127.0.0.2": {} }, { "mx1.x.test": ["ff02::1", "127.0.0.2"] });
  const result = await send({
    sourceFor: (address) =>
      net.isIPv4(address) ? { localAddress: "127.0.0.9", heloName: "nine.example.test" } : undefined,
  });
  assert.deepEqual(summary(result), ["accepted", "127.0.0.2", []]);
  assert.equal(result.localAddress, "127.0.0.9");
});

const brokenTls: SinkOptions = { tls: { key, cert }, script: on("starttls", { reply: "220 go", after: "rubbish" }) };

test("after broken STARTTLS the message is sent in plaintext, and the next one skips STARTTLS", async (t) => {
  const { sinks, send } = await start(t, { "127.0.0.2": brokenTls }, { "mx1.x.test": ["127.0.0.2"] });
  const result = await send();
  assert.deepEqual(summary(result), ["accepted", "127.0.0.2", []]);
  assert.equal(result.tls, null);
  assert.equal(sinks[0]?.connections.opened, 2);
  await send();
  assert.equal(sinks[0]?.connections.opened, 2);
});

for (const tls of ["required", "verified"] as const) {
  test(`after broken STARTTLS nothing is sent in plaintext when TLS is ${tls}`, async (t) => {
    const { sinks, send } = await start(t, { "127.0.0.2": brokenTls }, { "mx1.x.test": ["127.0.0.2"] });
    assert.deepEqual(summary(await send({ tls })), ["tls", "127.0.0.2", ["127.0.0.2"]]);
    assert.equal(sinks[0]?.accepted, 0);
    assert.equal(sinks[0]?.connections.opened, 1);
  });
}

test("STARTTLS is used when it works", async (t) => {
  const { send } = await start(t, { "127.0.0.2": { tls: { key, cert } } }, { "mx1.x.test": ["127.0.0.2"] });
  assert.equal((await send()).tls?.protocol, "TLSv1.3");
});

test("an MX host with a private address is skipped, and is a permanent failure when it is the only one", async (t) => {
  const allowAddress = (ip: string) => ip !== "127.0.0.2";
  const only = await start(t, { "127.0.0.2": {} }, { "mx1.x.test": ["127.0.0.2"] }, { allowAddress });
  const refused = await only.send();
  assert.deepEqual(refused.recipients[0]?.result, {
    kind: "unroutable",
    reason: "address-refused",
    message: "mx1.x.test resolves to an address that is not public; mail is not sent there",
  });
  assert.equal(only.sinks[0]?.connections.opened, 0);
  const hosts = { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] };
  const both = await start(t, { "127.0.0.2": {}, "127.0.0.3": {} }, hosts, { allowAddress });
  assert.deepEqual(summary(await both.send()), ["accepted", "127.0.0.3", []]);
});

test("a temporary failure of one host outweighs another host without addresses", async (t) => {
  const { send } = await start(t, { "127.0.0.9": {} }, { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": [] });
  assert.equal((await send()).recipients[0]?.result.kind, "lost");
});

test("a relay is used without an MX lookup, with AUTH over verified TLS, also at a private address", async (t) => {
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

test("only hosts that the policy allows are used", async (t) => {
  const { send } = await start(
    t,
    { "127.0.0.2": {}, "127.0.0.3": {} },
    { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.3"] },
  );
  assert.deepEqual(summary(await send({ allowHost: (host) => host === "mx2.x.test" })), ["accepted", "127.0.0.3", []]);
  assert.deepEqual(summary(await send({ allowHost: () => false })), ["tls", undefined, []]);
});

test("mail waits if the only host that the policy allows has no address", async (t) => {
  const { send } = await start(t, { "127.0.0.2": {} }, { "mx1.x.test": ["127.0.0.2"], "mx2.x.test": [] });
  assert.deepEqual(summary(await send({ allowHost: (host) => host === "mx2.x.test" })), ["tls", undefined, []]);
});

test("after an aborted signal no further address is tried", async (t) => {
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

test("an attempt that is aborted while DANE looks up a host that the policy does not allow is aborted", async (t) => {
  const controller = new AbortController();
  const hosts = zone({ "mx1.x.test": ["127.0.0.2"], "mx2.x.test": ["127.0.0.2"] });
  const validating: MxResolver = {
    async lookup(name, type) {
      if (type === "MX") return { ...(await hosts.lookup(name, type)), secure: true };
      controller.abort();
      throw controller.signal.reason;
    },
  };
  const { send } = await start(t, {}, {}, { validating });
  const result = await send({ tls: "verified", allowHost: () => false, signal: controller.signal });
  assert.equal(result.recipients[0]?.result.kind, "aborted");
});
