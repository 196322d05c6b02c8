import assert from "node:assert/strict";
import { test } from "node:test";
import { createSiteLimits, defaultSiteLimit, readSiteLimits, siteGroups, siteOf } from "./site.ts";

const at = (...hosts: string[]) => siteOf(hosts.map((host, i) => ({ host, preference: i < 2 ? 10 : 20 })));

test("the best MX host determines the site", () => {
  assert.equal(at("gmail-smtp-in.l.google.com"), "google.com");
  assert.equal(at("contoso-com.mail.protection.outlook.com"), "mail.protection.outlook.com");
  assert.equal(at("hotmail-com.olc.protection.outlook.com"), "olc.protection.outlook.com");
  assert.equal(at("mta7.am0.yahoodns.net"), "yahoodns.net");
  assert.equal(at("mx1.hosting.co.uk"), "hosting.co.uk");
  assert.equal(at("inbound-smtp.eu-west-1.amazonaws.com."), "amazonaws.com");
  assert.equal(at("192.0.2.1"), "192.0.2.1");
  assert.equal(at(), undefined);
});

test("of several best hosts the first by name determines the site, whatever their order", () => {
  assert.equal(at("mx.b.test", "mx.a.test", "mx.0.test"), "a.test");
  assert.equal(at("mx.a.test", "mx.b.test"), "a.test");
});

test("a limit comes from the operator, else from the table, else from the star", () => {
  const read = readSiteLimits("orange.fr=2/0.5, *=7,receiver.test=1");
  assert.ok(read.ok);
  const limitOf = createSiteLimits(read.limits);
  assert.deepEqual(limitOf("orange.fr"), { connections: 2, perSecond: 0.5, perConnection: 100 });
  assert.equal(limitOf("yahoodns.net").connections, 5);
  assert.equal(limitOf("receiver.test").connections, 1);
  assert.equal(limitOf("other.test").connections, 7);
  for (const wrong of ["google.com", "google.com=0", "a b=1", "x.test=1/0", "x.test=1/x"])
    assert.equal(readSiteLimits(wrong).ok, false, wrong);
});

function read(text: string) {
  const limits = readSiteLimits(text);
  assert.ok(limits.ok, JSON.stringify(limits));
  return createSiteLimits(limits.limits);
}

test("an operator's limit overrides the table, and the star applies to sites in neither", () => {
  const plain = read("");
  assert.deepEqual(plain("unlisted.test"), defaultSiteLimit);
  assert.deepEqual(plain("google.com"), { connections: 20, perConnection: 50 });
  const configured = read(" Google.com=40 , yahoodns.net=5/2.5, *=3/1 ,");
  assert.deepEqual(configured("google.com"), { connections: 40, perConnection: 50 });
  assert.deepEqual(configured("yahoodns.net"), { connections: 5, perConnection: 20, perSecond: 2.5 });
  assert.deepEqual(configured("unlisted.test"), { connections: 3, perConnection: 100, perSecond: 1 });
  assert.deepEqual(
    configured("icloud.com"),
    { connections: 5, perConnection: 5 },
    "the star does not apply to a site in the table",
  );
});

test("an invalid limit is reported with the entry and an example", () => {
  for (const text of [
    "google.com",
    "google.com=0",
    "google.com=5/0",
    "google.com=99999",
    "goo gle=5",
    "=5",
    "google.com=-1",
  ]) {
    const limits = readSiteLimits(`web.de=3,${text}`);
    assert.ok(!limits.ok, text);
    assert.ok(limits.reason.startsWith(JSON.stringify(text)), limits.reason);
    assert.match(limits.reason, /google\.com=20/);
  }
});

test("longer suffixes come first, so that the most specific site matches", () => {
  assert.ok(siteGroups.indexOf("olc.protection.outlook.com") < siteGroups.indexOf("google.com"));
  assert.deepEqual(
    [...siteGroups],
    siteGroups.toSorted((a, b) => b.length - a.length),
  );
});
