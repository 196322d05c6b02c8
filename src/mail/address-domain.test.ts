import assert from "node:assert/strict";
import { test } from "node:test";
import { readAddressDomain } from "./address-domain.ts";

test("a domain is converted to lower-case A-labels", () => {
  for (const [written, domain] of [
    ["Example.COM", "example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
  ] as const)
    assert.deepEqual(readAddressDomain(written), { ok: true, domain });
});

test("a domain that a URL parser would change, and one that is not fully qualified, is refused with its reason", () => {
  for (const [written, reason] of [
    ["", /nothing after the @/],
    ["[192.0.2.1]", /brackets/],
    ["example.com.", /ends in a dot/],
    ["exa%6dple.com", /"%"/],
    ["example.com/path", /"\/"/],
    ["example", /not a full domain name/],
    ["192.0.2.1", /ends in a number/],
    ["ｅxample.com", /internationalized/],
    ["ex\u00adample.com", /internationalized/],
    ["xn--a.example", /xn--/],
    ["-a.example", /./],
    [`${"a.".repeat(126)}example`, /253/],
  ] as const) {
    const read = readAddressDomain(written);
    assert.ok(!read.ok, written);
    assert.match(read.reason, reason);
  }
});
