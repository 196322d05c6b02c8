import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { until } from "../../test/harness/wait.ts";
import { asNodeResolve } from "./node-resolver.ts";
import { createResolver, type ResolverOptions } from "./resolver.ts";
import { parseServer, systemServers } from "./servers.ts";

let dns: ScriptedDns;
let other: ScriptedDns;
before(async () => {
  dns = await startScriptedDns();
  other = await startScriptedDns();
  dns.zone("test");
  dns.set("a.test", "A", "192.0.2.1");
  dns.set("a.test", "MX", "10 mx.test", "20 mx2.test");
  dns.setText("text.test", "one ", "two");
  dns.set("alias.test", "CNAME", "alias2.test");
  dns.set("alias2.test", "CNAME", "a.test");
  dns.set("dangling.test", "CNAME", "gone.test");
  dns.set("loop1.test", "CNAME", "loop2.test");
  dns.set("loop2.test", "CNAME", "loop1.test");
  for (let i = 0; i < 10; i++) dns.set(`long${i}.test`, "CNAME", `long${i + 1}.test`);
  dns.set("long10.test", "A", "192.0.2.9");
  other.set("a.test", "A", "192.0.2.2");
});
after(() => Promise.all([dns.stop(), other.stop()]));
beforeEach(() => {
  dns.queries.length = 0;
  other.queries.length = 0;
});

/** Waits so long for an answer that no query is repeated on a busy machine: tests count queries. */
const resolver = (options: Partial<ResolverOptions> = {}) =>
  createResolver({ servers: [dns], queryTimeoutMs: 20_000, totalTimeoutMs: 60_000, ...options });

test("a lookup returns the records of the requested type", async () => {
  const found = await resolver().lookup("A.test.", "MX");
  assert.ok(found.kind === "found");
  assert.deepEqual(
    found.records.map(({ priority, exchange }) => [priority, exchange]),
    [
      [10, "mx.test"],
      [20, "mx2.test"],
    ],
  );
  const text = await resolver().lookup("text.test", "TXT");
  assert.ok(text.kind === "found");
  assert.deepEqual(text.records[0]?.strings, ["one ", "two"]);
});

test("an absent record and each kind of failure are distinct results", async () => {
  dns.behave("bad.test", "servfail");
  dns.behave("closed.test", "refused");
  dns.behave("broken.test", "malformed");
  dns.behave("silent.test", "timeout");
  const one = resolver({ queryTimeoutMs: 300 });
  const kinds = await Promise.all(
    ["nothing.test", "a.test", "bad.test", "closed.test", "broken.test", "silent.test"].map((name) =>
      one.lookup(name, "TXT"),
    ),
  );
  assert.deepEqual(
    kinds.map((found) => (found.kind === "servfail" ? found.reason : found.kind)),
    ["nxdomain", "nodata", "servfail", "refused", "malformed", "timeout"],
  );
});

test("a server with a closed port is unreachable", async () => {
  const closed = await startScriptedDns();
  await closed.stop();
  assert.deepEqual(await resolver({ servers: [closed] }).lookup("a.test", "A"), {
    kind: "servfail",
    reason: "unreachable",
  });
});

test("a name that cannot be encoded does not exist", async () => {
  assert.equal((await resolver().lookup(`${"x".repeat(64)}.test`, "A")).kind, "nxdomain");
  assert.equal(dns.queries.length, 0);
});

test("aliases are followed; loops and long chains fail", async () => {
  const found = await resolver().lookup("alias.test", "A");
  assert.ok(found.kind === "found");
  assert.deepEqual(found.chain, ["alias2.test", "a.test"]);
  const dangling = await resolver().lookup("dangling.test", "A");
  assert.ok(dangling.kind === "nxdomain");
  assert.deepEqual(dangling.chain, ["gone.test"]);
  assert.deepEqual(await resolver().lookup("loop1.test", "A"), { kind: "servfail", reason: "cname-loop" });
  assert.deepEqual(await resolver().lookup("long0.test", "A"), { kind: "servfail", reason: "cname-loop" });
  assert.equal((await resolver().lookup("long3.test", "A")).kind, "found");
  const alias = await resolver().lookup("alias.test", "CNAME");
  assert.ok(alias.kind === "found" && alias.records[0]?.target === "alias2.test");
});

test("an alias target under a route is queried at that route's servers", async () => {
  dns.set("leaving.test", "CNAME", "www.elsewhere.example");
  dns.behave("leaving.test", undefined);
  other.set("www.elsewhere.example", "A", "192.0.2.3");
  const partial = await startScriptedDns();
  partial.set("leaving.test", "CNAME", "www.elsewhere.example");
  partial.set("www.elsewhere.example", "MX", "1 x.test");
  const routes = [{ suffix: "elsewhere.example", servers: [other] }];
  const found = await resolver({ servers: [partial], routes }).lookup("leaving.test", "A");
  await partial.stop();
  assert.ok(found.kind === "found");
  assert.equal(found.records[0]?.address, "192.0.2.3");
  assert.deepEqual(found.chain, ["www.elsewhere.example"]);
});

test("the next server is queried when one is silent, fails or answers wrongly", async () => {
  for (const behavior of ["timeout", "servfail", "refused", "malformed", "wrong-id", "wrong-question"] as const) {
    dns.behave("a.test", behavior);
    const found = await resolver({ servers: [dns, other], queryTimeoutMs: 100 }).lookup("a.test", "A");
    dns.behave("a.test", undefined);
    assert.ok(found.kind === "found", behavior);
    assert.equal(found.records[0]?.address, "192.0.2.2", behavior);
  }
});

test("after a timeout, a server is queried last for some time", async () => {
  dns.behave("slow.test", "timeout");
  other.set("slow.test", "A", "192.0.2.2");
  const one = resolver({ servers: [dns, other], queryTimeoutMs: 100 });
  await one.lookup("slow.test", "A");
  dns.queries.length = 0;
  await one.lookup("a.test", "A");
  assert.equal(dns.queries.length, 0);
});

test("a forged answer is ignored", async () => {
  dns.behave("a.test", "forged-first");
  const found = await resolver().lookup("a.test", "A");
  dns.behave("a.test", undefined);
  assert.ok(found.kind === "found");
  assert.equal(dns.queries.length, 1);
});

test("a truncated answer is fetched again over TCP, also if it ends within a record", async () => {
  dns.set("big.test", "TXT", "x".repeat(4000));
  for (const behavior of ["truncated", "cut-off"] as const) {
    dns.queries.length = 0;
    dns.behave("big.test", behavior);
    const found = await resolver().lookup("big.test", "TXT");
    assert.ok(found.kind === "found", behavior);
    assert.equal(found.records[0]?.strings.join("").length, 4000);
    assert.deepEqual(
      dns.queries.map(({ transport }) => transport),
      ["udp", "tcp"],
    );
  }
});

test("a server without EDNS support is queried again without EDNS", async () => {
  dns.behave("a.test", "no-edns");
  const found = await resolver().lookup("a.test", "A");
  dns.behave("a.test", undefined);
  assert.equal(found.kind, "found");
});

const manyLetters = "averylongnamewithmanyletters.test";
const transports = () => dns.queries.map(({ transport }) => transport);

test("the name is sent in random case over UDP, and an answer that repeats it is accepted", async () => {
  dns.set(manyLetters, "A", "192.0.2.1");
  const found = await resolver().lookup(manyLetters, "A");
  assert.equal(found.kind, "found");
  assert.match(dns.queries[0]?.sentName ?? "", /[A-Z].*[a-z]|[a-z].*[A-Z]/);
  assert.deepEqual(transports(), ["udp"]);
});

for (const [what, behavior] of [
  ["a server that lower-cases the question is queried again over TCP, where the case does not matter", "lower-case"],
  ["a forger that guesses the id and the port, but not the case, does not get its address accepted", "forged-case"],
] as const)
  test(what, async () => {
    dns.set(manyLetters, "A", "192.0.2.1");
    dns.behave(manyLetters, behavior);
    const found = await resolver().lookup(manyLetters, "A");
    dns.behave(manyLetters, undefined);
    assert.ok(found.kind === "found", JSON.stringify(found));
    assert.deepEqual(
      found.records.map(({ address }) => address),
      ["192.0.2.1"],
    );
    assert.deepEqual(transports(), ["udp", "tcp"]);
  });

test("a forger that omits the question does not get its NXDOMAIN accepted, and a server may omit it from an error", async () => {
  dns.set(manyLetters, "A", "192.0.2.1");
  dns.behave(manyLetters, "forged-nxdomain");
  const found = await resolver().lookup(manyLetters, "A");
  dns.behave(manyLetters, "refused-without-question");
  const refused = await resolver().lookup(manyLetters, "A");
  dns.behave(manyLetters, undefined);
  assert.deepEqual([found.kind, refused.kind], ["found", "servfail"], JSON.stringify(refused));
});

test("answers are cached for their TTL, and bypassCache ignores them", async () => {
  let now = 1_000_000;
  const one = resolver({ now: () => now });
  await one.lookup("a.test", "A");
  await one.lookup("A.TEST", "A");
  assert.equal(dns.queries.length, 1);
  await one.lookup("a.test", "A", { bypassCache: true });
  assert.equal(dns.queries.length, 2);
  now += 299_000;
  await one.lookup("a.test", "A");
  assert.equal(dns.queries.length, 2);
  now += 2_000;
  await one.lookup("a.test", "A");
  assert.equal(dns.queries.length, 3);
});

test("absence is cached for the minimum of the zone's SOA, and a failure is not cached", async () => {
  let now = 1_000_000;
  const one = resolver({ now: () => now });
  await one.lookup("nothing.test", "A");
  now += 59_000;
  await one.lookup("nothing.test", "A");
  assert.equal(dns.queries.length, 1);
  now += 2_000;
  await one.lookup("nothing.test", "A");
  assert.equal(dns.queries.length, 2);
  dns.behave("bad.test", "servfail");
  dns.queries.length = 0;
  await one.lookup("bad.test", "A");
  const first = dns.queries.length;
  await one.lookup("bad.test", "A");
  assert.equal(dns.queries.length, 2 * first);
});

test("the number of cached answers is bounded", async () => {
  const one = resolver({ cacheEntries: 2 });
  for (const name of ["a.test", "alias.test", "text.test"]) await one.lookup(name, "A");
  dns.queries.length = 0;
  await one.lookup("text.test", "A");
  await one.lookup("a.test", "A");
  assert.equal(dns.queries.length, 1);
});

test("fifty concurrent lookups of one name send one query", async () => {
  const one = resolver();
  await Promise.all(Array.from({ length: 50 }, () => one.lookup("a.test", "A")));
  assert.equal(dns.queries.length, 1);
});

test("names under a route are queried at its servers, and the longest suffix wins", async () => {
  const routes = [
    { suffix: "test", servers: [dns] },
    { suffix: "a.test", servers: [other] },
  ];
  const found = await resolver({ servers: [], routes }).lookup("a.test", "A");
  assert.ok(found.kind === "found" && found.records[0]?.address === "192.0.2.2");
  const byFunction = resolver({ servers: [dns], routes: (name) => (name === "a.test" ? [other] : undefined) });
  const routed = await byFunction.lookup("a.test", "A");
  assert.ok(routed.kind === "found" && routed.records[0]?.address === "192.0.2.2");
  assert.equal((await byFunction.lookup("text.test", "TXT")).kind, "found");
});

test("aborting one caller of a shared lookup does not abort the others", async () => {
  dns.behave("later.test", { delayMs: 50 });
  dns.set("later.test", "A", "192.0.2.1");
  const one = resolver();
  const stop = new AbortController();
  const waiting = one.lookup("later.test", "A");
  const aborted = one.lookup("later.test", "A", { signal: stop.signal });
  stop.abort(new Error("gave up"));
  await assert.rejects(aborted, /gave up/);
  assert.equal((await waiting).kind, "found");
  await assert.rejects(one.lookup("later.test", "A", { signal: stop.signal }), /gave up/);
});

test("the total timeout ends a lookup, and stop ends all lookups", async () => {
  dns.behave("silent.test", "timeout");
  const one = resolver({ queryTimeoutMs: 60_000, totalTimeoutMs: 60_000 });
  assert.deepEqual(await one.lookup("silent.test", "A", { bypassCache: true, timeoutMs: 20 }), { kind: "timeout" });
  assert.deepEqual(await one.lookup("silent.test", "A", { timeoutMs: 20 }), { kind: "timeout" });
  const waiting = one.lookup("silent.test", "A");
  one.stop();
  assert.deepEqual(await waiting, { kind: "timeout" });
  assert.deepEqual(await one.lookup("silent.test", "A"), { kind: "timeout" });
});

test("lookups beyond maxInFlight wait and then succeed", async () => {
  const names = Array.from({ length: 30 }, (_, i) => `many${i}.test`);
  const one = resolver({ maxInFlight: 3 });
  const kinds = await Promise.all(names.map((name) => one.lookup(name, "A")));
  assert.ok(kinds.every(({ kind }) => kind === "nxdomain"));
  assert.equal(dns.queries.length, 30);
});

test("asNodeResolve returns records and error codes as node:dns does", async () => {
  const resolve = asNodeResolve(resolver());
  assert.deepEqual(await resolve("text.test", "TXT"), [["one two"]]);
  assert.deepEqual(await resolve("a.test"), ["192.0.2.1"]);
  assert.deepEqual((await resolve("a.test", "MX"))[0], { priority: 10, exchange: "mx.test" });
  await assert.rejects(resolve("nothing.test", "TXT"), { code: "ENOTFOUND" });
  await assert.rejects(resolve("a.test", "TXT"), { code: "ENODATA" });
});

test("parseServer accepts IP addresses with an optional port and nothing else", () => {
  assert.deepEqual(parseServer("192.0.2.1"), { host: "192.0.2.1", port: 53 });
  assert.deepEqual(parseServer("192.0.2.1:5353"), { host: "192.0.2.1", port: 5353 });
  assert.deepEqual(parseServer("2001:db8::1"), { host: "2001:db8::1", port: 53 });
  assert.deepEqual(parseServer("[2001:db8::1]:5353"), { host: "2001:db8::1", port: 5353 });
  for (const bad of ["", "dns.test", "192.0.2.1:0", "192.0.2.1:70000", "[192.0.2.1", "1.2.3"]) {
    assert.equal(parseServer(bad), undefined, bad);
  }
  assert.ok(systemServers().length > 0);
});

test("slow servers of one domain delay only the lookups of that domain", async () => {
  const one = resolver({ maxInFlight: 4 });
  const slow = Array.from({ length: 12 }, (_, i) => `n${i}.tarpit.test`);
  for (const name of slow) dns.behave(name, "timeout");
  let waiting = slow.length;
  const lookups = slow.map((name) => one.lookup(name, "TXT").finally(() => (waiting -= 1)));
  await until("queries of the slow domain", () => dns.queries.length >= 2);
  assert.equal((await one.lookup("a.test", "A")).kind, "found");
  assert.equal(waiting, slow.length, "the slow lookups still wait");
  one.stop();
  for (const found of await Promise.all(lookups)) assert.equal(found.kind, "timeout");
  for (const name of slow) dns.behave(name, undefined);
});

test("a lookup that waits for its turn ends at its deadline", async () => {
  const one = resolver({ maxInFlight: 2 });
  for (const name of ["a.tarpit.test", "b.tarpit.test"]) dns.behave(name, "timeout");
  const first = one.lookup("a.tarpit.test", "TXT");
  await until("the query of the first", () => dns.queries.length === 1);
  const second = await one.lookup("b.tarpit.test", "TXT", { bypassCache: true, timeoutMs: 50 });
  assert.equal(second.kind, "timeout");
  assert.equal(dns.queries.length, 1, "the second was not sent, and the first still waits");
  one.stop();
  assert.equal((await first).kind, "timeout");
  for (const name of ["a.tarpit.test", "b.tarpit.test"]) dns.behave(name, undefined);
});
