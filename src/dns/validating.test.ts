import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { createResolver, type Resolver } from "./resolver.ts";
import { createValidatingResolver } from "./validating.ts";

let server: ScriptedDns;
let ordinaryServer: ScriptedDns;
let ordinary: Resolver;
let clock = 0;
const patient = { queryTimeoutMs: 20_000, totalTimeoutMs: 60_000 };

before(async () => {
  [server, ordinaryServer] = await Promise.all([startScriptedDns(), startScriptedDns()]);
  server.edns = true;
  server.sign("signed.test");
  server.ttl = ordinaryServer.ttl = 0;
  for (const dns of [server, ordinaryServer])
    for (const name of ["a.signed.test", "a.plain.test", "b.plain.test"])
      dns.set(name, "A", dns === server ? "192.0.2.1" : "192.0.2.2");
  ordinary = createResolver({ servers: [ordinaryServer], ...patient });
});
after(async () => {
  ordinary.stop();
  await Promise.all([server.stop(), ordinaryServer.stop()]);
});

async function addressOf(resolver: Resolver, name: string) {
  const found = await resolver.lookup(name, "A");
  return found.kind === "found" ? [found.records[0]!.address, found.secure] : [found.kind];
}

test("answers say whether they are secure", async () => {
  const resolver = createValidatingResolver({ servers: [server], ordinary, ...patient });
  assert.deepEqual(await addressOf(resolver, "a.signed.test"), ["192.0.2.1", true]);
  assert.deepEqual(await addressOf(resolver, "a.plain.test"), ["192.0.2.1", undefined]);
  assert.deepEqual(await addressOf(ordinary, "a.signed.test"), ["192.0.2.2", undefined]);
  const absent = await resolver.lookup("absent.signed.test", "A");
  assert.ok(absent.kind === "nxdomain" && absent.secure);
});

test("an answer is secure only if every part of an alias chain is", async () => {
  const resolver = createValidatingResolver({ servers: [server], ordinary, ...patient });
  server.set("out.signed.test", "CNAME", "a.plain.test");
  server.set("in.signed.test", "CNAME", "a.signed.test");
  server.set("alias.plain.test", "CNAME", "a.signed.test");
  assert.deepEqual(await addressOf(resolver, "out.signed.test"), ["192.0.2.1", undefined]);
  assert.deepEqual(await addressOf(resolver, "in.signed.test"), ["192.0.2.1", true]);
  assert.deepEqual(await addressOf(resolver, "alias.plain.test"), ["192.0.2.1", undefined]);
  const alias = await resolver.lookup("out.signed.test", "CNAME");
  assert.ok(alias.kind === "found" && alias.secure, "the alias itself is secure");
});

test("while no server answers, the ordinary resolver is asked for names that were insecure within a day", async () => {
  const away = await startScriptedDns();
  away.edns = true;
  away.ttl = 0;
  away.sign("signed.test");
  for (const name of ["a.signed.test", "a.plain.test"]) away.set(name, "A", "192.0.2.1");
  const resolver = createValidatingResolver({ servers: [away], ordinary, ...patient, now: () => clock });
  await addressOf(resolver, "a.signed.test");
  await addressOf(resolver, "a.plain.test");
  await away.stop();
  clock += 1000;
  assert.deepEqual(await addressOf(resolver, "a.signed.test"), ["servfail"]);
  assert.deepEqual(await addressOf(resolver, "b.plain.test"), ["servfail"], "never asked before");
  assert.deepEqual(await addressOf(resolver, "a.plain.test"), ["192.0.2.2", undefined]);
  assert.equal((await resolver.lookup("a.plain.test", "AAAA")).kind, "servfail", "another type of the same name");
  clock += 25 * 3600_000;
  assert.deepEqual(await addressOf(resolver, "a.plain.test"), ["servfail"], "known no longer");
});

test("a server that is silent counts as away; one that replies to other lookups does not", async () => {
  const resolver = createValidatingResolver({ servers: [server], ordinary, queryTimeoutMs: 300, totalTimeoutMs: 1000 });
  await addressOf(resolver, "a.plain.test");
  server.behave("a.plain.test", "timeout");
  try {
    assert.deepEqual(await addressOf(resolver, "a.plain.test"), ["192.0.2.2", undefined]);
    await addressOf(resolver, "a.signed.test");
    const silent = addressOf(resolver, "a.plain.test");
    server.behave("b.plain.test", { delayMs: 50 });
    await addressOf(resolver, "b.plain.test");
    assert.deepEqual(await silent, ["timeout"]);
  } finally {
    server.behave("a.plain.test", undefined);
    server.behave("b.plain.test", undefined);
  }
});

test("while the servers are silent, only one lookup at a time waits for them", async () => {
  let time = 0;
  const silent = await startScriptedDns();
  silent.edns = true;
  silent.ttl = 0;
  const known = ["a.plain.test", "b.plain.test"];
  for (const name of known) silent.set(name, "A", "192.0.2.1");
  const resolver = createValidatingResolver({
    ...{ servers: [silent], ordinary, queryTimeoutMs: 1000, totalTimeoutMs: 1500 },
    now: () => time,
  });
  try {
    for (const name of known) await addressOf(resolver, name);
    for (const name of known) silent.behave(name, "timeout");
    time = 1000;
    await addressOf(resolver, known[0]!);
    time = 20_000;
    silent.queries.length = 0;
    const found = await Promise.all(known.map((name) => addressOf(resolver, name)));
    assert.deepEqual(found, [
      ["192.0.2.2", undefined],
      ["192.0.2.2", undefined],
    ]);
    assert.deepEqual(new Set(silent.queries.map(({ name }) => name)), new Set([known[0]]));
    for (const name of known) silent.behave(name, undefined);
    time = 40_000;
    assert.deepEqual(await addressOf(resolver, known[0]!), ["192.0.2.1", undefined], "back");
    assert.deepEqual(await addressOf(resolver, known[1]!), ["192.0.2.1", undefined]);
  } finally {
    resolver.stop();
    await silent.stop();
  }
});

test("a name whose own servers fail is not looked up elsewhere", async () => {
  const resolver = createValidatingResolver({ servers: [server], ordinary, ...patient });
  await addressOf(resolver, "b.plain.test");
  server.behave("b.plain.test", "servfail");
  assert.deepEqual(await addressOf(resolver, "b.plain.test"), ["servfail"]);
  server.behave("b.plain.test", undefined);
});

test("an answer without EDNS is a failure with its own reason, over both transports", async () => {
  const resolver = createValidatingResolver({ servers: [server], ordinary, ...patient });
  await addressOf(resolver, "a.plain.test");
  server.edns = false;
  try {
    for (const behavior of [undefined, "no-edns", "lower-case"] as const) {
      server.behave("a.plain.test", behavior);
      assert.deepEqual(await resolver.lookup("a.plain.test", "A"), { kind: "servfail", reason: "no-edns" });
    }
  } finally {
    server.edns = true;
    server.behave("a.plain.test", undefined);
  }
});

test("an answer without the DO flag is a failure: its AD flag says nothing", async () => {
  const resolver = createValidatingResolver({ servers: [server], ordinary, ...patient });
  server.behave("a.signed.test", "no-do");
  try {
    assert.deepEqual(await resolver.lookup("a.signed.test", "A"), { kind: "servfail", reason: "no-edns" });
  } finally {
    server.behave("a.signed.test", undefined);
  }
  assert.deepEqual(await addressOf(resolver, "a.signed.test"), ["192.0.2.1", true]);
});

test("the second server is asked if the first does not support EDNS", async () => {
  const old = await startScriptedDns();
  old.set("a.signed.test", "A", "192.0.2.3");
  try {
    const resolver = createValidatingResolver({ servers: [old, server], ordinary, ...patient });
    assert.deepEqual(await addressOf(resolver, "a.signed.test"), ["192.0.2.1", true]);
  } finally {
    await old.stop();
  }
});

test("a large set of TLSA records is not cached", async () => {
  server.ttl = 300;
  server.set("small.signed.test", "TLSA", `3 1 1 ${"ab".repeat(32)}`);
  server.set("large.signed.test", "TLSA", `3 0 0 ${"ab".repeat(9000)}`);
  server.behave("large.signed.test", "truncated");
  server.ttl = 0;
  const resolver = createValidatingResolver({ servers: [server], ordinary, ...patient });
  const asked = (name: string) =>
    server.queries.filter((query) => query.name === name && query.transport === "udp").length;
  for (const name of ["small.signed.test", "large.signed.test"]) {
    for (let i = 0; i < 2; i++) assert.equal((await resolver.lookup(name, "TLSA")).kind, "found");
    assert.equal(asked(name), name.startsWith("small") ? 1 : 2);
  }
});
