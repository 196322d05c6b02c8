import assert from "node:assert/strict";
import { test } from "node:test";
import { excessOf, type Power } from "./covers.ts";

const scoped = (...scopes: string[]): Power => ({ permission: "scoped", test: false, limits: { scopes } });
const full = (limits?: Power["limits"]): Power => ({ permission: "full", test: false, limits });
const send = (limits?: Power["limits"]): Power => ({ permission: "send", test: false, limits });
const read: Power = { permission: "read", test: false };

test("a key covers itself, and a full key without limits covers every key", () => {
  const end = new Date(1e12);
  const keys = [
    full(),
    send(),
    scoped("manage", "send"),
    full({ domains: ["a.test"], recipients: ["*.b.test"], addresses: ["10.0.0.0/8"], expiresAt: end }),
  ];
  for (const key of keys) {
    assert.equal(excessOf(key, key), undefined);
    assert.equal(excessOf(key, full()), undefined);
  }
  assert.equal(excessOf(read, full()), undefined);
});

test("a key with scopes covers keys with some of them, and no full or read key", () => {
  const caller = scoped("manage", "send", "stats");
  assert.equal(excessOf(scoped("stats"), caller), undefined);
  assert.equal(excessOf(send(), caller), undefined, "a send key may do what the scope send allows");
  assert.equal(excessOf(scoped("stats", "events"), caller), "it has the scope events");
  assert.equal(excessOf(send(), scoped("manage")), "it has the scope send");
  for (const key of [full(), read]) assert.match(excessOf(key, caller)!, /permission/);
});

test("every limit of the caller limits the key", () => {
  const end = new Date(1e12);
  const cases: [Power["limits"], Power["limits"], string | undefined][] = [
    [{ domains: ["a.test", "b.test"] }, { domains: ["a.test"] }, undefined],
    [{ domains: ["a.test"] }, { domains: ["a.test", "b.test"] }, "it may send from b.test"],
    [{ domains: ["a.test"] }, {}, "it may send from any domain"],
    [{ recipients: ["a.test"] }, { recipients: ["x@a.test"] }, undefined],
    [{ recipients: ["a.test"] }, { recipients: ["*.a.test"] }, "it may send to *.a.test"],
    [{ recipients: ["a.test"] }, undefined, "it may send to any recipient"],
    [{ addresses: ["10.0.0.0/8"] }, { addresses: ["10.1.0.0/16"] }, undefined],
    [{ addresses: ["10.0.0.0/8"] }, { addresses: ["10.1.0.0/16", "::/0"] }, "it may be used from ::/0"],
    [{ addresses: ["10.0.0.0/8"] }, {}, "it may be used from any address"],
    [{ expiresAt: end }, { expiresAt: end }, undefined],
    [
      { expiresAt: end },
      { expiresAt: new Date(1e12 + 1) },
      `it is valid for longer than this key, which expires at ${end.toISOString()}`,
    ],
  ];
  for (const [own, wanted, excess] of cases)
    assert.equal(excessOf(full(wanted), full(own)), excess, JSON.stringify([own, wanted]));
  assert.match(excessOf(full(), full({ expiresAt: end }))!, /valid for longer/);
});

test("limits on sending do not matter for a key that cannot send", () => {
  const caller: Power = {
    ...scoped("manage", "send", "stats"),
    limits: { scopes: ["manage", "send", "stats"], domains: ["a.test"] },
  };
  assert.equal(excessOf(scoped("stats"), caller), undefined);
  assert.equal(excessOf(scoped("stats", "send"), caller), "it may send from any domain");
});

test("a test key covers test keys only", () => {
  assert.match(excessOf(full(), { ...full(), test: true })!, /live key/);
  assert.equal(excessOf({ ...full(), test: true }, full()), undefined);
});
