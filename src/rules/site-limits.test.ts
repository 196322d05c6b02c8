import assert from "node:assert/strict";
import { test } from "node:test";
import { createSiteLimits, defaultSiteLimit, readSiteLimits, siteGroups } from "./site-limits.ts";

function read(text: string) {
  const limits = readSiteLimits(text);
  assert.ok(limits.ok, JSON.stringify(limits));
  return createSiteLimits(limits.limits);
}

test("an operator's line wins over what is known, and a star is for every site without a line", () => {
  const plain = read("");
  assert.deepEqual(plain("nobody.test"), defaultSiteLimit);
  assert.deepEqual(plain("google.com"), { connections: 20, perConnection: 50 });
  const told = read(" Google.com=40 , yahoodns.net=5/2.5, *=3/1 ,");
  assert.deepEqual(told("google.com"), { connections: 40, perConnection: 50 });
  assert.deepEqual(told("yahoodns.net"), { connections: 5, perConnection: 20, perSecond: 2.5 });
  assert.deepEqual(told("nobody.test"), { connections: 3, perConnection: 100, perSecond: 1 });
  assert.deepEqual(
    told("icloud.com"),
    { connections: 5, perConnection: 5 },
    "the star is not for a site that is known",
  );
});

test("what is no limit is named, with an example", () => {
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

test("the longest suffix stands first, so that a part of a receiver is found before the whole", () => {
  assert.ok(siteGroups.indexOf("olc.protection.outlook.com") < siteGroups.indexOf("google.com"));
  assert.deepEqual(
    [...siteGroups],
    siteGroups.toSorted((a, b) => b.length - a.length),
  );
});
