import assert from "node:assert/strict";
import { test } from "node:test";
import { allowsHost, keptForMs } from "./mta-sts.ts";
import { siteOf } from "./site.ts";
import { createSiteLimits, readSiteLimits } from "./site-limits.ts";

const at = (...hosts: string[]) => siteOf(hosts.map((host, i) => ({ host, preference: i < 2 ? 10 : 20 })));

test("a destination belongs to the group of its best host", () => {
  assert.equal(at("gmail-smtp-in.l.google.com"), "google.com");
  assert.equal(at("contoso-com.mail.protection.outlook.com"), "mail.protection.outlook.com");
  assert.equal(at("hotmail-com.olc.protection.outlook.com"), "olc.protection.outlook.com");
  assert.equal(at("mta7.am0.yahoodns.net"), "yahoodns.net");
  assert.equal(at("mx1.hosting.co.uk"), "hosting.co.uk");
  assert.equal(at("inbound-smtp.eu-west-1.amazonaws.com."), "amazonaws.com");
  assert.equal(at("192.0.2.1"), "192.0.2.1");
  assert.equal(at(), undefined);
});

test("of several best hosts the first by name decides, whatever their order; worse ones do not count", () => {
  assert.equal(at("mx.b.test", "mx.a.test", "mx.0.test"), "a.test");
  assert.equal(at("mx.a.test", "mx.b.test"), "a.test");
});

test("limits are the operator's, the table's, or everybody's", () => {
  const read = readSiteLimits("orange.fr=2/0.5, *=7,receiver.test=1");
  assert.ok(read.ok);
  const limitOf = createSiteLimits(read.limits);
  assert.deepEqual(limitOf("orange.fr"), { connections: 2, perSecond: 0.5, perConnection: 100 });
  assert.equal(limitOf("yahoodns.net").connections, 5);
  assert.equal(limitOf("receiver.test").connections, 1);
  assert.equal(limitOf("anybody.test").connections, 7);
  for (const wrong of ["google.com", "google.com=0", "a b=1", "x.test=1/0", "x.test=1/x"])
    assert.equal(readSiteLimits(wrong).ok, false, wrong);
});

test("an MTA-STS policy names hosts, or all of one label below a name", () => {
  const policy = { mode: "enforce", hosts: ["mx.a.test", "*.b.test"] } as const;
  for (const host of ["mx.a.test", "MX.A.test.", "x.b.test"]) assert.ok(allowsHost(policy, host), host);
  for (const host of ["a.test", "y.mx.a.test", "b.test", "x.y.b.test", ""]) assert.ok(!allowsHost(policy, host), host);
  assert.equal(keptForMs(0), 86_400_000);
  assert.equal(keptForMs(604_800), 604_800_000);
});
