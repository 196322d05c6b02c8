import assert from "node:assert/strict";
import { test } from "node:test";
import { allowsAddress, containsRange, readRange } from "./addresses.ts";

test("addresses and ranges are read in one form", () => {
  const cases: [string, string][] = [
    ["192.0.2.7", "192.0.2.7/32"],
    ["198.51.100.77/24", "198.51.100.0/24"],
    ["10.255.0.0/12", "10.240.0.0/12"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["2001:DB8:0:0::1", "2001:db8::1/128"],
    ["2001:db8:ffff::/33", "2001:db8:8000::/33"],
    ["::ffff:192.0.2.9/120", "192.0.2.0/24"],
    ["::ffff:192.0.2.9", "192.0.2.9/32"],
  ];
  for (const [text, range] of cases) assert.deepEqual(readRange(text), { ok: true, range }, text);
});

test("what people and programs read differently is refused", () => {
  const wrong = ["", "10", "010.0.0.1", "0x7f.0.0.1", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1"];
  wrong.push("fe80::1%eth0", "::ffff:10.0.0.0/64", "example.com", "10.0.0.0/08x", "*", "10.0.0.1 ");
  for (const text of wrong) assert.equal(readRange(text).ok, false, text);
});

test("a client is allowed by its own address, with IPv4 in either form", () => {
  const ranges = ["198.51.100.0/24", "2001:db8::/48"];
  for (const client of ["198.51.100.1", "::ffff:198.51.100.255", "2001:db8:0:9::1", "2001:db8::1%eth0"])
    assert.ok(allowsAddress(ranges, client), client);
  for (const client of ["198.51.101.1", "::ffff:198.51.101.1", "2001:db8:1::1", "", "nonsense", "198.51.100"])
    assert.ok(!allowsAddress(ranges, client), client);
  assert.ok(allowsAddress(["0.0.0.0/0"], "203.0.113.1") && !allowsAddress(["0.0.0.0/0"], "2001:db8::1"));
});

test("a range contains the ranges within it", () => {
  assert.ok(containsRange("10.0.0.0/8", "10.1.0.0/16"));
  assert.ok(containsRange("10.0.0.0/8", "10.0.0.0/8"));
  assert.ok(!containsRange("10.1.0.0/16", "10.0.0.0/8"), "a wider one");
  assert.ok(!containsRange("10.0.0.0/8", "11.0.0.0/16"));
  assert.ok(!containsRange("::/0", "10.0.0.0/8") && !containsRange("0.0.0.0/0", "::/0"));
});
