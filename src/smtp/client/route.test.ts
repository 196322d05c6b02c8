import assert from "node:assert/strict";
import test from "node:test";
import { createAddressGuard } from "../../dns/address-guard.ts";
import type { Lookup } from "../../dns/record.ts";
import { findAddresses, findHosts, type MxResolver, type RouteDeps } from "./route.ts";

type Answers = Record<string, "nxdomain" | "nodata" | "servfail" | "timeout" | string[]>;

/** A zone as a table of "name TYPE" to values; a name that is not listed is nodata. */
function table(answers: Answers): MxResolver {
  return {
    async lookup(name, type, options) {
      options?.signal?.throwIfAborted();
      const answer = answers[`${name} ${type}`] ?? answers[name] ?? "nodata";
      if (answer === "timeout") return { kind: "timeout" };
      if (answer === "servfail") return { kind: "servfail", reason: "servfail" };
      if (typeof answer === "string") return { kind: answer, chain: [], ttlSeconds: 60 };
      const records = answer.map((value) => {
        const [priority = "", exchange = ""] = value.split(" ");
        return type === "MX"
          ? { name, ttl: 60, type, priority: Number(priority), exchange }
          : { name, ttl: 60, type, address: value };
      });
      return { kind: "found", records, chain: [], ttlSeconds: 60 } as unknown as Lookup<typeof type>;
    },
  };
}

function deps(answers: Answers, more: Partial<RouteDeps> = {}): RouteDeps {
  return { resolver: table(answers), random: () => 0.999, allowAddress: () => true, ...more };
}

async function hosts(domain: string, d: RouteDeps): Promise<string[] | string> {
  const route = await findHosts(domain, d);
  if ("hosts" in route) return route.hosts.map(({ host }) => host);
  return route.failure.kind === "unroutable" ? route.failure.reason : route.failure.kind;
}

async function addresses(host: string, d: RouteDeps): Promise<string[] | string> {
  const found = await findAddresses(host, d);
  if ("addresses" in found) return found.addresses;
  return found.failure.kind === "unroutable" ? found.failure.reason : found.failure.kind;
}

test("hosts are ordered by preference", async () => {
  const d = deps({ "x.test MX": ["20 b.test", "10 a.test", "30 c.test"] });
  assert.deepEqual(await hosts("x.test", d), ["a.test", "b.test", "c.test"]);
});

test("hosts with equal preference are shuffled, never before a better one", async () => {
  const answers = { "x.test MX": ["10 a.test", "10 b.test", "5 first.test", "10 c.test"] };
  const seen = new Set<string>();
  for (let i = 0; i < 64; i++) {
    // Every combination of random numbers that a shuffle of four uses.
    const draws = [(i % 4) / 4, (Math.floor(i / 4) % 4) / 4, Math.floor(i / 16) / 4];
    const order = await hosts("x.test", deps(answers, { random: () => draws.shift() ?? 0 }));
    assert.equal(order[0], "first.test");
    seen.add(String(order));
  }
  assert.equal(seen.size, 6);
});

for (const [name, answers, expected] of [
  ["without MX records the domain itself is the host", {}, ["x.test"]],
  ["null MX, RFC 7505", { "x.test MX": ["0 "] }, "null-mx"],
  ["null MX written as a dot", { "x.test MX": ["0 ."] }, "null-mx"],
  ["a null MX next to a real one is ignored", { "x.test MX": ["0 .", "10 a.test"] }, ["a.test"]],
  ["an MX that is an IP address is not a host", { "x.test MX": ["0 192.0.2.1"] }, "no-address"],
  ["a host that is listed twice is tried once", { "x.test MX": ["20 A.test.", "10 a.test"] }, ["a.test"]],
  ["no such domain", { "x.test": "nxdomain" }, "nxdomain"],
  ["SERVFAIL", { "x.test MX": "servfail" }, "servfail"],
  ["no answer", { "x.test MX": "timeout" }, "dns-timeout"],
] as [string, Answers, string[] | string][]) {
  test(`hosts: ${name}`, async () => assert.deepEqual(await hosts("x.test", deps(answers)), expected));
}

test("of a thousand MX records the ten best are used", async () => {
  const records = Array.from({ length: 1000 }, (_, i) => `${1000 - i} h${1000 - i}.test`);
  assert.deepEqual(
    await hosts("x.test", deps({ "x.test MX": records })),
    Array.from({ length: 10 }, (_, i) => `h${i + 1}.test`),
  );
});

test("a domain literal is its own host, and an invalid one is a bad domain", async () => {
  assert.deepEqual(await hosts("[192.0.2.1]", deps({})), ["192.0.2.1"]);
  assert.deepEqual(await hosts("[IPv6:2001:db8::1]", deps({})), ["2001:db8::1"]);
  for (const bad of ["[192.0.2]", "[2001:db8::1]", "[IPv6:192.0.2.1]", "[x]", "["]) {
    assert.equal(await hosts(bad, deps({})), "bad-domain");
  }
});

test("IPv6 and IPv4 addresses alternate", async () => {
  const answers = {
    "a.test AAAA": ["2001:db8::1", "2001:db8::2"],
    "a.test A": ["192.0.2.1", "192.0.2.2", "192.0.2.3"],
  };
  assert.deepEqual(await addresses("a.test", deps(answers)), [
    "2001:db8::1",
    "192.0.2.1",
    "2001:db8::2",
    "192.0.2.2",
    "192.0.2.3",
  ]);
});

for (const [name, answers, expected] of [
  [
    "IPv4 is used while the IPv6 lookup times out",
    { "a.test A": ["192.0.2.1"], "a.test AAAA": "timeout" },
    ["192.0.2.1"],
  ],
  ["no records", {}, "no-address"],
  ["no such host", { "a.test": "nxdomain" }, "no-address"],
  ["one family fails and the other is absent: temporary", { "a.test AAAA": "servfail" }, "servfail"],
  ["one family times out and the other is absent: temporary", { "a.test A": "timeout" }, "dns-timeout"],
] as [string, Answers, string[] | string][]) {
  test(`addresses: ${name}`, async () => assert.deepEqual(await addresses("a.test", deps(answers)), expected));
}

test("of a hundred addresses six are used", async () => {
  const many = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`);
  assert.equal((await addresses("a.test", deps({ "a.test A": many }))).length, 6);
});

test("the address guard checks every address, also literals and localhost", async () => {
  const allowAddress = createAddressGuard({ allowCidrs: [] });
  const guarded = deps(
    { "a.test A": ["10.0.0.1", "127.0.0.1"], "b.test A": ["10.0.0.1", "93.184.216.34"] },
    { allowAddress },
  );
  assert.equal(await addresses("a.test", guarded), "address-refused");
  assert.deepEqual(await addresses("b.test", guarded), ["93.184.216.34"]);
  for (const host of ["127.0.0.1", "::1", "localhost", "::ffff:10.0.0.1"]) {
    assert.equal(await addresses(host, guarded), "address-refused");
  }
  const relaxed = deps(
    { "a.test A": ["10.0.0.1"] },
    { allowAddress: createAddressGuard({ allowCidrs: ["10.0.0.0/8"] }) },
  );
  assert.deepEqual(await addresses("a.test", relaxed), ["10.0.0.1"]);
});

test("localhost is resolved without DNS", async () => {
  assert.deepEqual(await addresses("localhost", deps({ localhost: "servfail" })), ["::1", "127.0.0.1"]);
});

test("an aborted signal ends the lookups", async () => {
  const signal = AbortSignal.abort();
  const route = await findHosts("x.test", deps({}), signal);
  assert.equal("failure" in route && route.failure.kind, "aborted");
  const found = await findAddresses("x.test", deps({}), signal);
  assert.equal("failure" in found && found.failure.kind, "aborted");
});
