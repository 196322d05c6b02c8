import assert from "node:assert/strict";
import { test } from "node:test";
import { startScriptedDns } from "../../../../test/harness/dns.ts";
import type { Config } from "../../config.ts";
import { blocklistChecks } from "./blocklists.ts";

const blocklists = { addresses: ["zen.lists.test"], domains: ["dbl.lists.test"] };

test("no list is asked in capture mode, and none about the addresses of a relay", async () => {
  const checks = async (settings: Partial<Config>) => (await blocklistChecks(settings as Config))[0]!.found;
  assert.match(await checks({ delivery: "capture", blocklists }), /not needed/);
  assert.match(await checks({ delivery: "direct", blocklists: { addresses: [], domains: [] } }), /no list/);
  assert.match(await checks({ delivery: "relay", blocklists: { ...blocklists, domains: [] } }), /no list/);
});

test("each list must have its test address, and not what none may list", async (t) => {
  const dns = await startScriptedDns();
  t.after(async () => await dns.stop());
  dns.ttl = 0;
  const resolvers = [{ host: "127.0.0.1", port: dns.port }];
  const findings = async () => {
    const found = await blocklistChecks({ delivery: "direct", blocklists, resolvers } as unknown as Config);
    return found.map((finding) => `${finding.result} ${finding.found}`);
  };
  const [gone, other] = [/^warn zen\.lists\.test: does not list its test address/, /^ok answered by dbl\.lists\.test$/];
  const empty = await findings();
  assert.match(empty[0]!, other);
  assert.match(empty[1]!, gone);
  dns.set("2.0.0.127.zen.lists.test", "A", "127.0.0.2");
  assert.deepEqual(await findings(), ["ok answered by zen.lists.test, dbl.lists.test"]);
  dns.set("1.0.0.127.zen.lists.test", "A", "127.0.0.2");
  dns.set("invalid.dbl.lists.test", "A", "127.255.255.254");
  const broken = await findings();
  assert.match(broken[0]!, /^warn zen\.lists\.test: lists everything/);
  assert.match(broken[1]!, /^warn dbl\.lists\.test: refuses questions from public resolvers/);
  dns.behave("2.0.0.127.zen.lists.test", "servfail");
  assert.match((await findings())[0]!, /^warn zen\.lists\.test: DNS failed \(servfail\)/);
});
