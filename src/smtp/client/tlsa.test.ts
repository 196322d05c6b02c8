import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../../test/harness/dns.ts";
import { createResolver, type Resolver } from "../../dns/resolver.ts";
import { findAddresses, findHosts } from "./route.ts";
import { findDanePolicy } from "./tlsa.ts";

let dns: ScriptedDns;
let resolver: Resolver;
const usable = `3 1 1 ${"ab".repeat(32)}`;
const deps = () => ({ resolver, random: () => 0.5, allowAddress: () => true });

before(async () => {
  dns = await startScriptedDns();
  dns.edns = true;
  dns.ttl = 0;
  dns.sign("signed.test");
  resolver = createResolver({ servers: [dns], validated: true, queryTimeoutMs: 20_000, totalTimeoutMs: 60_000 });
});
after(async () => {
  resolver.stop();
  await dns.stop();
});
beforeEach(() => {
  dns.queries.length = 0;
});

/** What a delivery finds out about the only host of a domain. */
async function policyFor(domain: string) {
  const route = await findHosts(domain, deps());
  assert.ok("hosts" in route);
  if (!route.secure) return "insecure MX";
  const { host } = route.hosts[0]!;
  const addresses = await findAddresses(host, deps());
  assert.ok("addresses" in addresses);
  const found = await findDanePolicy({ host, addresses, domainNames: route.names }, resolver);
  if (found && "failure" in found) return found.failure;
  return found && { base: found.base, records: found.records.length, names: found.names };
}

const tlsaQuestions = () => dns.queries.filter(({ type }) => type === "TLSA").map(({ name }) => name);

test("the records of the MX host; for usage 2, the names of host, domain and the domain's alias", async () => {
  dns.set("a.signed.test", "CNAME", "b.signed.test");
  dns.set("b.signed.test", "MX", "10 mx.signed.test");
  dns.set("mx.signed.test", "A", "127.0.0.1");
  dns.set("_25._tcp.mx.signed.test", "TLSA", usable, usable.replace("3", "2"), usable.replace("3", "0"));
  assert.deepEqual(await policyFor("a.signed.test"), {
    base: "mx.signed.test",
    records: 2,
    names: ["mx.signed.test", "a.signed.test", "b.signed.test"],
  });
});

test("the target of a secure alias first, then the alias itself", async () => {
  dns.set("c.signed.test", "MX", "10 mxc.signed.test");
  dns.set("mxc.signed.test", "CNAME", "real.signed.test");
  dns.set("real.signed.test", "A", "127.0.0.1");
  dns.set("_25._tcp.mxc.signed.test", "TLSA", usable);
  assert.deepEqual(await policyFor("c.signed.test"), { base: "mxc.signed.test", records: 1, names: [] });
  assert.deepEqual(tlsaQuestions(), ["_25._tcp.real.signed.test", "_25._tcp.mxc.signed.test"]);
  dns.set("_25._tcp.real.signed.test", "TLSA", usable, usable.replace("ab", "cd"));
  assert.deepEqual(await policyFor("c.signed.test"), { base: "real.signed.test", records: 2, names: [] });
});

test("a secure alias of an insecure name: only the alias; an insecure alias: no question", async () => {
  dns.set("d.signed.test", "MX", "10 mxd.signed.test");
  dns.set("mxd.signed.test", "CNAME", "real.plain.test");
  dns.set("real.plain.test", "A", "127.0.0.1");
  dns.set("_25._tcp.mxd.signed.test", "TLSA", usable);
  dns.set("_25._tcp.real.plain.test", "TLSA", usable);
  assert.deepEqual(await policyFor("d.signed.test"), { base: "mxd.signed.test", records: 1, names: [] });
  assert.deepEqual(tlsaQuestions(), ["_25._tcp.mxd.signed.test"]);
  dns.set("e.signed.test", "MX", "10 mxe.plain.test");
  dns.set("mxe.plain.test", "CNAME", "real.plain.test");
  dns.queries.length = 0;
  assert.equal(await policyFor("e.signed.test"), undefined);
  assert.deepEqual(tlsaQuestions(), []);
  dns.behave("mxf.signed.test", undefined);
});

test("insecure MX records, and a secure answer without records", async () => {
  dns.set("f.plain.test", "MX", "10 mx.signed.test");
  assert.equal(await policyFor("f.plain.test"), "insecure MX");
  dns.set("g.signed.test", "MX", "10 mxg.signed.test");
  dns.set("mxg.signed.test", "A", "127.0.0.1");
  assert.equal(await policyFor("g.signed.test"), undefined);
});

test("a failed lookup is a failure, also when the next name would have records", async () => {
  dns.set("h.signed.test", "MX", "10 mxh.signed.test");
  dns.set("mxh.signed.test", "CNAME", "realh.signed.test");
  dns.set("realh.signed.test", "A", "127.0.0.1");
  dns.set("_25._tcp.mxh.signed.test", "TLSA", usable);
  for (const behavior of ["servfail", "refused", "malformed"] as const) {
    dns.behave("_25._tcp.realh.signed.test", behavior);
    const failure = await policyFor("h.signed.test");
    assert.ok(failure !== undefined && typeof failure === "object" && "kind" in failure);
    assert.deepEqual([failure.kind, "dane" in failure && failure.dane], ["tls", true], behavior);
  }
});

test("an aborted lookup is an aborted attempt", async () => {
  const controller = new AbortController();
  const addresses = { secure: true, target: undefined };
  dns.behave("_25._tcp.mxi.signed.test", "timeout");
  const { signal } = controller;
  const waiting = findDanePolicy({ host: "mxi.signed.test", addresses, domainNames: [], signal }, resolver);
  controller.abort();
  const found = await waiting;
  assert.equal(found && "failure" in found && found.failure.kind, "aborted");
});
