import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { createAddressGuard, isPublicAddress } from "./address-guard.ts";
import { type AuthoritativeOptions, createAuthoritative } from "./authoritative.ts";
import { createResolver } from "./resolver.ts";

// 127.0.0.1 is the resolver; the others are the domain's authoritative servers, which share a port as real ones share 53.
let recursive: ScriptedDns;
let own: ScriptedDns;
let second: ScriptedDns;
before(async () => {
  recursive = await startScriptedDns();
  own = await startScriptedDns({ host: "127.0.0.2" });
  second = await startScriptedDns({ host: "127.0.0.3", port: own.port });
  recursive.zone("test");
  recursive.set("shop.test", "NS", "ns1.shop.test", "ns2.shop.test");
  recursive.set("ns1.shop.test", "A", "127.0.0.2");
  recursive.set("ns2.shop.test", "A", "127.0.0.3");
  recursive.zone("shop.test");
});
after(() => Promise.all([recursive.stop(), own.stop(), second.stop()]));
beforeEach(() => {
  for (const dns of [recursive, own, second]) dns.queries.length = 0;
  for (const dns of [own, second]) {
    dns.authoritative = true;
    dns.remove("a.shop.test");
    dns.behave("a.shop.test", undefined);
  }
});

function authoritative(options: Partial<AuthoritativeOptions> = {}) {
  const resolver = createResolver({ servers: [recursive], queryTimeoutMs: 300 });
  const allowAddress = createAddressGuard({ allowCidrs: ["127.0.0.0/8"] });
  return createAuthoritative({ resolver, allowAddress, port: own.port, queryTimeoutMs: 200, ...options });
}

async function askBoth(options: Partial<AuthoritativeOptions> = {}) {
  const one = authoritative(options);
  const servers = await one.findServers("a.shop.test");
  assert.ok(servers);
  return one.ask(servers, "a.shop.test", "TXT");
}

test("the zone and its servers are found from any name below the zone", async () => {
  const servers = [
    { host: "127.0.0.2", port: own.port },
    { host: "127.0.0.3", port: own.port },
  ];
  for (const name of ["shop.test", "news.shop.test", "a.b.c.shop.test"]) {
    assert.deepEqual(await authoritative().findServers(name), { zone: "shop.test", servers });
  }
});

test("the zone is the closest name with an SOA or NS records; an alias does not lead into another zone", async () => {
  const hosts = ["ns1.shop.test", "ns2.shop.test"];
  recursive.set("alias.shop.test", "CNAME", "elsewhere.test");
  recursive.set("elsewhere.test", "NS", "ns.elsewhere.test");
  recursive.set("own.shop.test", "NS", "NS1.Host.test");
  recursive.zone("own.shop.test");
  const { findZone } = authoritative();
  for (const name of ["shop.test", "a.b.shop.test", "alias.shop.test"])
    assert.deepEqual(await findZone(name), { zone: "shop.test", hosts }, name);
  assert.deepEqual(await findZone("x.own.shop.test"), { zone: "own.shop.test", hosts: ["ns1.host.test"] });
  recursive.set("co.uk", "NS", "ns.registry.test");
  assert.equal(await findZone("unregistered.co.uk"), undefined, "a public suffix is not the tenant's zone");
});

test("a name without a zone below the top-level domain has no servers", async () => {
  assert.equal(await authoritative().findServers("nobody.test"), undefined);
  recursive.behave("silent.test", "timeout");
  assert.equal(await authoritative().findServers("silent.test"), undefined);
});

test("loopback and private addresses are queried only if the operator allows them", async () => {
  assert.equal(await authoritative({ allowAddress: isPublicAddress }).findServers("shop.test"), undefined);
  assert.deepEqual([own.queries, second.queries], [[], []]);
});

test("authoritative servers are queried without recursion", async () => {
  own.set("a.shop.test", "TXT", "hello");
  second.set("a.shop.test", "TXT", "hello");
  assert.equal((await askBoth({ queryTimeoutMs: 20_000 })).kind, "found");
  assert.deepEqual(
    own.queries.map(({ sentName: _, ...query }) => query),
    [{ name: "a.shop.test", type: "TXT", transport: "udp", recursion: false }],
  );
});

test("authoritative servers get the name in random case too, and over TCP when they change it", async () => {
  const name = "averylongnamewithmanyletters.shop.test";
  for (const server of [own, second]) {
    server.set(name, "TXT", "hello");
    server.behave(name, "lower-case");
  }
  const one = authoritative({ queryTimeoutMs: 20_000 });
  const servers = await one.findServers("shop.test");
  assert.equal((await one.ask(servers!, name, "TXT")).kind, "found");
  for (const server of [own, second]) {
    assert.match(server.queries[0]!.sentName, /[A-Z].*[a-z]|[a-z].*[A-Z]/);
    assert.deepEqual(
      server.queries.map(({ transport }) => transport),
      ["udp", "tcp"],
    );
    server.behave(name, undefined);
  }
});

test("a record is found if one server has it and absent if none has; a silent server does not count", async () => {
  second.set("a.shop.test", "TXT", "hello");
  assert.equal((await askBoth()).kind, "found");
  second.remove("a.shop.test");
  assert.equal((await askBoth()).kind, "nxdomain");
  own.behave("a.shop.test", "timeout");
  assert.equal((await askBoth()).kind, "nxdomain");
  second.behave("a.shop.test", "timeout");
  assert.equal((await askBoth()).kind, "timeout");
});

test("an answer without the authoritative flag is ignored", async () => {
  own.authoritative = false;
  second.authoritative = false;
  own.set("a.shop.test", "TXT", "hello");
  assert.deepEqual(await askBoth(), { kind: "servfail", reason: "lame" });
});

test("a referral is followed under the same address guard, and a referral loop ends", async () => {
  own.refer("sub.shop.test", "ns2.shop.test");
  second.set("x.sub.shop.test", "TXT", "deep");
  const servers = { zone: "shop.test", servers: [{ host: own.host, port: own.port }] };
  assert.equal((await authoritative().ask(servers, "x.sub.shop.test", "TXT")).kind, "found");
  assert.deepEqual(await authoritative({ allowAddress: () => false }).ask(servers, "x.sub.shop.test", "TXT"), {
    kind: "servfail",
    reason: "blocked",
  });
  own.refer("sub.shop.test", "ns1.shop.test");
  assert.deepEqual(await authoritative().ask(servers, "x.sub.shop.test", "TXT"), { kind: "servfail", reason: "lame" });
});

test("the resolver follows an alias that points outside the zone", async () => {
  own.set("a.shop.test", "CNAME", "keys.elsewhere.test");
  own.set("keys.elsewhere.test", "A", "192.0.2.1");
  second.set("a.shop.test", "CNAME", "keys.elsewhere.test");
  second.set("keys.elsewhere.test", "A", "192.0.2.1");
  recursive.set("keys.elsewhere.test", "TXT", "key");
  const found = await askBoth();
  assert.ok(found.kind === "found");
  assert.deepEqual(found.chain, ["keys.elsewhere.test"]);
});

test("known servers are used without a lookup", async () => {
  const servers = [{ host: own.host, port: own.port }];
  const one = authoritative({
    knownServers: (name) => (name.endsWith(".test") ? servers : undefined),
    allowAddress: () => false,
  });
  assert.deepEqual(await one.findServers("any.test"), { zone: "any.test", servers });
  assert.equal(recursive.queries.length, 0);
});
