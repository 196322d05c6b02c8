import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ScriptedDns, startScriptedDns } from "../../test/harness/dns.ts";
import { until } from "../../test/harness/wait.ts";
import { createResolver, type Resolver } from "../dns/resolver.ts";
import { createHosts } from "./hosts.ts";

let dns: ScriptedDns;
let resolver: Resolver;
before(async () => {
  dns = await startScriptedDns();
  resolver = createResolver({ servers: [{ host: dns.host, port: dns.port }] });
  dns.set("1.2.0.192.in-addr.arpa", "PTR", "mx.there.test");
  dns.set("mx.there.test", "A", "192.0.2.1");
  // The owner of this address claims a name of another host.
  dns.set("2.2.0.192.in-addr.arpa", "PTR", "mx.there.test");
  dns.behave("4.2.0.192.in-addr.arpa", "timeout");
});
after(async () => {
  resolver.stop();
  await dns.stop();
});

test("a host is named only if its name resolves back to the address", async () => {
  const hostsOf = createHosts({ resolver, waitMs: 10_000 });
  const hosts = await hostsOf(["192.0.2.1", "192.0.2.2", "192.0.2.3", ""], "w1");
  assert.deepEqual(
    [...hosts],
    [
      ["192.0.2.1", "mx.there.test"],
      ["192.0.2.2", ""],
      ["192.0.2.3", ""],
    ],
  );
});

test("a caller does not wait for a name server that does not answer", async () => {
  const hostsOf = createHosts({ resolver, waitMs: 1 });
  assert.deepEqual([...(await hostsOf(["192.0.2.4"], "w1"))], []);
});

test("names of the operator's internal network are not looked up", async () => {
  const internal = ["10.0.0.1", "127.0.0.1", "169.254.0.1", "100.64.0.1", "fd00::1", "fe80::1", "::1"];
  dns.set("1.0.0.10.in-addr.arpa", "PTR", "db.internal.test");
  dns.set("db.internal.test", "A", "10.0.0.1");
  const hostsOf = createHosts({ resolver, waitMs: 10_000 });
  assert.deepEqual([...(await hostsOf(internal, "w1"))], []);
});

test("a workspace whose addresses have silent name servers leaves lookups to the others", async () => {
  const silent = Array.from({ length: 60 }, (_, i) => `192.0.3.${i}`);
  for (let i = 0; i < silent.length; i++) dns.behave(`${i}.3.0.192.in-addr.arpa`, "timeout");
  const hostsOf = createHosts({ resolver, waitMs: 1 });
  await until("the host is known", async () => {
    await hostsOf(silent, "w1");
    return (await hostsOf(["192.0.2.1"], "w2")).get("192.0.2.1") === "mx.there.test";
  });
});
