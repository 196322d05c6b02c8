import assert from "node:assert/strict";
import { test } from "node:test";
import { readAddressDomain } from "./address-domain.ts";

test("what comes out is the name that went in, in lower-case A-labels", () => {
  for (const [written, domain] of [
    ["Example.COM", "example.com"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["BÜCHER.example", "xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
  ] as const)
    assert.deepEqual(readAddressDomain(written), { ok: true, domain });
});

test("what would be guessed at, resolved or cut is refused in words", () => {
  for (const [written, reason] of [
    ["", /nothing after the @/],
    ["[192.0.2.1]", /brackets/],
    ["example.com.", /ends in a dot/],
    ["exa%6dple.com", /"%"/],
    ["example.com/path", /"\/"/],
    ["example", /not a whole domain/],
    ["192.0.2.1", /ends in a number/],
    ["ｅxample.com", /internationalised/],
    ["ex\u00adample.com", /internationalised/],
    ["xn--a.example", /xn--/],
    ["-a.example", /./],
    [`${"a.".repeat(126)}example`, /253/],
  ] as const) {
    const read = readAddressDomain(written);
    assert.ok(!read.ok, written);
    assert.match(read.reason, reason);
  }
});
