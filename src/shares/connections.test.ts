import assert from "node:assert/strict";
import { test } from "node:test";
import { createConnectionShares } from "./connections.ts";

const busy = { idleMs: () => undefined, giveWay: () => assert.fail("a busy connection gave way") };

function openMany(shares: ReturnType<typeof createConnectionShares>, address: string, n: number, connection = busy) {
  return Array.from({ length: n }, () => shares.admit(address, { ...connection })).filter((release) => release);
}

test("one address gets its share, and the others find places", () => {
  const shares = createConnectionShares({ total: 100, factor: 3, perAddress: 1000 });
  assert.equal(openMany(shares, "192.0.2.1", 200).length, 75);
  assert.equal(openMany(shares, "192.0.2.2", 200).length, 18);
  assert.equal(openMany(shares, "192.0.2.3", 1).length, 1);
});

test("an address holds at most its cap, and gets a place back when one of its connections ends", () => {
  const shares = createConnectionShares({ total: 100, factor: 3, perAddress: 5 });
  const releases = openMany(shares, "192.0.2.1", 20);
  assert.equal(releases.length, 5);
  releases[0]!();
  releases[0]!();
  assert.equal(shares.count(), 4);
  assert.equal(openMany(shares, "192.0.2.1", 20).length, 1);
});

test("the addresses of one IPv6 site share the places of the site", () => {
  const shares = createConnectionShares({ total: 1000, factor: 3, perAddress: 5 });
  let held = 0;
  for (let i = 0; i < 10; i++) held += openMany(shares, `2001:db8:0:ff0${i}::1`, 20).length;
  assert.equal(held, 20);
  assert.equal(openMany(shares, "2001:db8:0:ee00::1", 20).length, 5);
});

test("a full port takes the place of the most idle connection of the largest holder", () => {
  const shares = createConnectionShares({ total: 10, factor: 100, perAddress: 100 });
  const gone: number[] = [];
  for (let i = 0; i < 8; i++) shares.admit("192.0.2.1", { idleMs: () => i, giveWay: () => gone.push(i) });
  for (let i = 2; i < 4; i++) shares.admit(`192.0.2.${i}`, busy);
  assert.ok(shares.admit("192.0.2.9", busy));
  assert.deepEqual(gone, [7]);
  assert.equal(shares.count(), 10);
  assert.equal(shares.admit("192.0.2.1", busy), undefined, "the largest holder itself gets no place");
});

test("a full port whose largest holder is busy takes an idle connection of the next largest", () => {
  const shares = createConnectionShares({ total: 11, factor: 100, perAddress: 100 });
  const gone: string[] = [];
  const idle = (name: string) => ({ idleMs: () => 1, giveWay: () => gone.push(name) });
  openMany(shares, "192.0.2.1", 5);
  for (const address of ["192.0.2.2", "192.0.2.2", "192.0.2.3", "192.0.2.3", "192.0.2.3"])
    shares.admit(address, idle(address));
  // The last place goes only to an address that has none.
  shares.admit("192.0.2.4", busy);
  assert.equal(shares.count(), 11);
  assert.ok(shares.admit("192.0.2.9", busy));
  assert.deepEqual(gone, ["192.0.2.3"]);
});

test("on a port full of single connections, only one that was idle for long gives way", () => {
  let idleMs = 5_000;
  const gone: string[] = [];
  const shares = createConnectionShares({ total: 3, factor: 100, perAddress: 100 });
  for (const address of ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    shares.admit(address, { idleMs: () => idleMs, giveWay: () => gone.push(address) });
  assert.equal(shares.admit("192.0.2.4", busy), undefined);
  idleMs = 15_000;
  assert.ok(shares.admit("192.0.2.4", busy));
  assert.deepEqual(gone, ["192.0.2.1"]);
});

test("a trusted proxy is exempt from the share and never gives way", () => {
  const shares = createConnectionShares({ total: 10, factor: 1, perAddress: 2, exempt: ["10.0.0.0/8"] });
  assert.equal(openMany(shares, "10.0.0.1", 9).length, 9);
  assert.equal(openMany(shares, "192.0.2.1", 2).length, 1);
  assert.equal(shares.admit("10.0.0.1", busy), undefined);
});

test("where proxies keep idle connections, these give way on a full port", () => {
  const shares = createConnectionShares({
    total: 4,
    factor: 1,
    perAddress: 2,
    exempt: ["10.0.0.0/8"],
    exemptGiveWay: true,
  });
  const gone: number[] = [];
  for (let i = 0; i < 4; i++) shares.admit("10.0.0.1", { idleMs: () => i, giveWay: () => gone.push(i) });
  assert.equal(shares.count(), 4, "the share does not apply to the proxy");
  assert.ok(shares.admit("192.0.2.1", busy));
  assert.deepEqual(gone, [3]);
  assert.equal(shares.count(), 4);
});
