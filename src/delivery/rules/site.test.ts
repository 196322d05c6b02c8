import assert from "node:assert/strict";
import { test } from "node:test";
import { createSiteLimits, defaultSiteLimit, readSiteLimits } from "./site.ts";

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
