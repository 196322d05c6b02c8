import assert from "node:assert/strict";
import { test } from "node:test";
import type { LookupFunction } from "../dns/record.ts";
import { lookUpHosts, maxHosts, sendingHosts } from "./sending-hosts.ts";

const source = (address: string, heloName?: string) => ({ address, heloName, weight: 1 });

test("the sending addresses are the public ones, each with its HELO name", () => {
  const hosts = sendingHosts({
    publicIps: ["1.2.3.4", "::ffff:1.2.3.5"],
    sources: [source("1.2.3.4", "mx1.test"), source("10.0.0.1", "inside.test"), source("1.2.3.6")],
    hostname: "mail.test",
  });
  assert.deepEqual(hosts, [
    { address: "1.2.3.4", helo: "mx1.test" },
    { address: "1.2.3.5", helo: "mail.test" },
    { address: "1.2.3.6", helo: "mail.test" },
  ]);
});

test("PTR names are looked up forward, and a failure is not an absence", async () => {
  const records: Record<string, object> = {
    "4.3.2.1.in-addr.arpa PTR": { kind: "found", records: [{ target: "MX.test." }, { target: "other.test" }] },
    "mx.test A": { kind: "found", records: [{ address: "1.2.3.4" }] },
    "other.test A": { kind: "timeout" },
    "5.3.2.1.in-addr.arpa PTR": { kind: "servfail", reason: "servfail" },
  };
  const lookup = (async (name: string, type: string) =>
    records[`${name} ${type}`] ?? { kind: "nxdomain" }) as LookupFunction;
  const hosts = await lookUpHosts(
    ["1.2.3.4", "1.2.3.5", "2001:db8::1"].map((address) => ({ address, helo: "mx.test" })),
    lookup,
  );
  assert.deepEqual(hosts[0]!.ptr, [
    { name: "mx.test", resolvesBack: true },
    { name: "other.test", resolvesBack: { unanswered: "DNS did not answer for other.test" } },
  ]);
  assert.deepEqual(hosts[0]!.heloAddresses, ["1.2.3.4"]);
  assert.ok("unanswered" in hosts[1]!.ptr);
  assert.deepEqual([hosts[2]!.ptr, hosts[2]!.heloAddresses], [[], []], "an IPv6 address has AAAA records");
  const many = Array.from({ length: 100 }, (_, i) => ({ address: `1.2.4.${i}`, helo: "mx.test" }));
  assert.equal((await lookUpHosts(many, lookup)).length, maxHosts);
});
