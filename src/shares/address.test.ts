import assert from "node:assert/strict";
import { test } from "node:test";
import { isWithin, networksOf } from "./address.ts";

test("an IPv4 address counts alone, also in its IPv6 form", () => {
  const expected = { address: "192.0.2.7", site: "192.0.2.7" };
  assert.deepEqual(networksOf("192.0.2.7"), expected);
  assert.deepEqual(networksOf("::ffff:192.0.2.7"), expected);
});

test("an IPv6 address counts with its /64 and its /56", () => {
  assert.deepEqual(networksOf("2001:db8:1:22ff:1::9"), {
    address: "2001:db8:1:22ff::/64",
    site: "2001:db8:1:2200::/56",
  });
  assert.equal(networksOf("2001:db8:1:2201::1").site, networksOf("2001:db8:1:22ff::1").site);
  assert.notEqual(networksOf("2001:db8:1:2301::1").site, networksOf("2001:db8:1:22ff::1").site);
  assert.equal(networksOf("fe80::1%eth0").address, "fe80::/64");
  assert.deepEqual(networksOf("2001:db8:1:22ff::/64"), networksOf("2001:db8:1:22ff:1::9"), "a /64 has the same site");
});

test("text that is no address counts as itself", () => {
  assert.deepEqual(networksOf(""), { address: "", site: "" });
});

test("an address lies in a range of its own family only", () => {
  assert.equal(isWithin("10.1.2.3", ["10.0.0.0/8"]), true);
  assert.equal(isWithin("::ffff:10.1.2.3", ["10.0.0.0/8"]), true);
  assert.equal(isWithin("11.1.2.3", ["10.0.0.0/8", "::/0"]), false);
  assert.equal(isWithin("nonsense", ["10.0.0.0/8"]), false);
});
