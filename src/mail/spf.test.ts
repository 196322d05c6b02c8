import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isSpf, parseSpf } from "./spf.ts";

const valid = [
  "v=spf1",
  "V=SPF1 -ALL",
  "v=spf1  a   mx  ",
  "v=spf1 a:mail.example.test/24//64 mx/16 ptr ?all",
  "v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::/32 ~all",
  "v=spf1 ip6:2001:db8::1 +include:_spf.example.test -all",
  "v=spf1 exists:%{ir}.%{v}._spf.%{d2} redirect=_spf.example.test",
  "v=spf1 include:a_b-c.test. exp=explain.test custom=anything",
];
for (const text of valid) {
  test(`${text} is valid`, () => assert.ok(parseSpf(text).ok));
}

const invalid: [text: string, problem: RegExp][] = [
  ["v=spf10 -all", /start/],
  ["spf1 -all", /start/],
  ["v=spf1 include", /needs a domain/],
  ["v=spf1 include:", /no domain name/],
  ["v=spf1 include:a b", /not an SPF mechanism/],
  ["v=spf1 ip4:192.0.2.300 -all", /ip4/],
  ["v=spf1 ip4:192.0.2.0/33 -all", /ip4/],
  ["v=spf1 ip4:2001:db8::1", /ip4/],
  ["v=spf1 ip6:192.0.2.1", /ip6/],
  ["v=spf1 a/33", /prefix/],
  ["v=spf1 all:example.test", /no argument/],
  ["v=spf1 redirect=a.test redirect=b.test", /twice/],
  ["v=spf1 redirect=", /no domain/],
  ["v=spf1 includes:a.test", /not an SPF mechanism/],
  ["v=spf1 include:a..test", /no domain/],
  ["v=spf1 include;a.test", /not an SPF mechanism/],
];
for (const [text, problem] of invalid) {
  test(`${text} is invalid`, () => {
    const reading = parseSpf(text);
    assert.ok(!reading.ok);
    assert.match(reading.problem, problem);
  });
}

test("qualifiers, domains and the redirect are parsed", () => {
  assert.deepEqual(parseSpf("v=spf1 a ~include:X.test ?ip4:192.0.2.1 redirect=r.test"), {
    ok: true,
    record: {
      mechanisms: [
        { qualifier: "+", name: "a", domain: undefined },
        { qualifier: "~", name: "include", domain: "X.test" },
        { qualifier: "?", name: "ip4", network: "192.0.2.1" },
      ],
      redirect: "r.test",
    },
  });
});

test("parsing never throws, whatever the text", () => {
  const term = fc.stringMatching(/^[-+~?]?[a-z0-9]{0,8}[:=/]{0,2}[a-z0-9.:%{}/]{0,20}$/);
  fc.assert(
    fc.property(fc.array(fc.oneof(term, fc.string())), (terms) => {
      const text = `v=spf1 ${terms.join(" ")}`;
      return isSpf(text) && typeof parseSpf(text).ok === "boolean";
    }),
    { seed: 2, numRuns: 2000 },
  );
});
