import assert from "node:assert/strict";
import { test } from "node:test";
import { hostsOf, siteGroups, siteOf, siteOfHost } from "./site.ts";

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

test("longer suffixes come first, so that the most specific site matches", () => {
  assert.ok(siteGroups.indexOf("olc.protection.outlook.com") < siteGroups.indexOf("google.com"));
  assert.deepEqual(
    [...siteGroups],
    siteGroups.toSorted((a, b) => b.length - a.length),
  );
});

test("the hosts of a site are those whose site it is", () => {
  const hosts = [
    ...["google.com", "aspmx.l.google.com", "notgoogle.com", "mx.googlemail.com", "192.0.2.1", "localhost"],
    ...["outlook.com", "mx.outlook.com", "x.mail.protection.outlook.com", "olc.protection.outlook.com", "a.localhost"],
    ...["mx1.hosting.co.uk", "hosting.co.uk", "other.co.uk", "co.uk"],
  ];
  const matches = (host: string, { site, andBelow, except }: ReturnType<typeof hostsOf>) => {
    const isWithin = (suffix: string) => host === suffix || host.endsWith(`.${suffix}`);
    return (host === site || (andBelow && isWithin(site))) && !except.some(isWithin);
  };
  for (const site of new Set(hosts.map(siteOfHost))) {
    const expected = hosts.filter((host) => siteOfHost(host) === site);
    assert.ok(expected.length > 0 && siteOfHost(site) === site);
    assert.deepEqual(
      hosts.filter((host) => matches(host, hostsOf(site))),
      expected,
      site,
    );
  }
});
