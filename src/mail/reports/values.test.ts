import assert from "node:assert/strict";
import { test } from "node:test";
import { countOf, domainName, ipAddress, isAtOrBelow, shortText } from "./values.ts";

test("texts are one line of limited length", () => {
  assert.equal(shortText(" a\r\nb\0c\u202e ", 100), "a b c");
  assert.equal(shortText("x".repeat(200), 100).length, 100);
  assert.equal(shortText("\ud800", 10), "\ufffd");
});

test("domain names are checked", () => {
  assert.equal(domainName(" Example.COM. "), "example.com");
  for (const text of ["", "a b", "<x>", "é.example", "a..b", "x".repeat(64), `${"a.".repeat(130)}b`])
    assert.equal(domainName(text), undefined, text);
});

test("addresses have one form", () => {
  assert.equal(ipAddress("2001:DB8:0:0::1"), "2001:db8::1");
  assert.equal(ipAddress("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(ipAddress("fe80::1%eth0"), "fe80::1");
  for (const text of ["", "192.0.2", "0300.0.2.1", "example.com", "192.0.2.1/24"])
    assert.equal(ipAddress(text), undefined, text);
});

test("counts are non-negative integers with a limit", () => {
  assert.equal(countOf("17", "count"), 17);
  assert.equal(countOf("999999999999", "count"), 1_000_000_000);
  for (const text of ["-1", "1.5", "1e3", "", undefined, "0x10", "9".repeat(400)])
    assert.throws(() => countOf(text, "count"), /not a non-negative integer/);
});

test("a name is at or below a domain by labels", () => {
  assert.ok(isAtOrBelow("a.example.com", "example.com"));
  assert.ok(!isAtOrBelow("notexample.com", "example.com"));
});
