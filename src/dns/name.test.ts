import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { organizationalDomain, readDomainName } from "./name.ts";

const accepted: [input: string, ascii: string, unicode: string, registrable: string][] = [
  ["example.com", "example.com", "example.com", "example.com"],
  ["Example.COM.", "example.com", "example.com", "example.com"],
  ["  news.example.co.uk ", "news.example.co.uk", "news.example.co.uk", "example.co.uk"],
  ["bücher.example", "xn--bcher-kva.example", "bücher.example", "xn--bcher-kva.example"],
  ["XN--BCHER-KVA.example", "xn--bcher-kva.example", "bücher.example", "xn--bcher-kva.example"],
  ["日本。jp", "xn--wgv71a.jp", "日本.jp", "xn--wgv71a.jp"],
  ["github.io", "github.io", "github.io", "github.io"],
  ["me.github.io", "me.github.io", "me.github.io", "me.github.io"],
  ["a-1.test", "a-1.test", "a-1.test", "a-1.test"],
];

for (const [input, ascii, unicode, registrable] of accepted) {
  test(`${JSON.stringify(input)} is read as ${ascii}`, () => {
    assert.deepEqual(readDomainName(input), { ok: true, name: { ascii, unicode, registrable } });
  });
}

const refused: [input: string, reason: RegExp][] = [
  ["", /empty/],
  [".", /empty|internationalized/],
  ["com", /single label/],
  ["co.uk", /public suffix/],
  ["192.0.2.1", /IP address/],
  ["[2001:db8::1]", /IP address/],
  ["2001:db8::1", /IP address/],
  ["0x7f.1", /IP address/],
  ["1.2.3", /IP address/],
  ["example.123", /internationalized|number|IP address/],
  ["https://example.com/", /without https/],
  ["me@example.com", /without the mailbox/],
  ["*.example.com", /wildcard/],
  ["exa mple.com", /character " "/],
  ["example%2ecom", /character "%"/],
  ["exa_mple.com", /character "_"/],
  ["a..com", /empty label/],
  [".example.com", /empty label/],
  ["-a.example.com", /hyphen/],
  ["a-.example.com", /hyphen/],
  ["xn--a.com", /internationalized/],
  [`${"a".repeat(64)}.com`, /63/],
  [`${"a.".repeat(120)}com`, /238/],
  ["example.com\u0000", /character/],
  ["a\u200db.com", /internationalized/],
];

for (const [input, reason] of refused) {
  test(`${JSON.stringify(input.slice(0, 40))} is refused`, () => {
    const reading = readDomainName(input);
    assert.ok(!reading.ok);
    assert.match(reading.reason, reason);
  });
}

test("every accepted input yields a host name that reads as itself", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.domain(), fc.webUrl()), (input) => {
      const reading = readDomainName(input);
      if (!reading.ok) return reading.reason.length > 0;
      assert.match(reading.name.ascii, /^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
      assert.deepEqual(readDomainName(reading.name.ascii), reading);
      return true;
    }),
    { seed: 1, numRuns: 2000 },
  );
});

test("the organizational domain is one label below the public suffix", () => {
  assert.equal(organizationalDomain("a.b.example.co.uk"), "example.co.uk");
  assert.equal(organizationalDomain("a.b.example.test"), "example.test");
});
