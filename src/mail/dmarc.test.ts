import assert from "node:assert/strict";
import { test } from "node:test";
import { discoverDmarc, organizationPolicyName, parseDmarc } from "./dmarc.ts";

const valid: [text: string, policy: string, warnings: string[]][] = [
  ["v=DMARC1; p=none", "none", []],
  ["v=DMARC1;p=reject", "reject", []],
  ["v = DMARC1 ; p = QUARANTINE ;", "quarantine", []],
  ["v=DMARC1; rua=mailto:a@b.test; p=none", "none", []],
  ["v=DMARC1; p=none; pct=150", "none", ["pct"]],
  ["v=DMARC1; p=none; adkim=x; aspf=s", "none", ["adkim"]],
  ["v=DMARC1; p=none; rua=a@b.test", "none", ["rua"]],
  ["v=DMARC1; p=none; unknown=1; fo=1", "none", []],
];

for (const [text, policy, warnings] of valid) {
  test(`${text} is a valid policy`, () => {
    const reading = parseDmarc(text);
    assert.ok(reading.ok);
    assert.equal(reading.record.policy, policy);
    assert.deepEqual(reading.record.warnings, warnings);
  });
}

const invalid: [text: string, problem: RegExp][] = [
  ["v=DMARC1", /no p=/],
  ["v=dmarc1; p=none", /start with/],
  ["p=none; v=DMARC1", /start with/],
  ["v=DMARC1 p=none", /start with/],
  ["v=DMARC1; p=nothing", /not one of/],
  ["v=DMARC1; p=none; sp=some", /sp=some/],
  ["v=DMARC1; p=none; p=reject", /twice/],
  ["v=DMARC1; p=none; pct", /tag=value/],
];

for (const [text, problem] of invalid) {
  test(`${text} is not a valid policy`, () => {
    const reading = parseDmarc(text);
    assert.ok(!reading.ok);
    assert.match(reading.problem, problem);
  });
}

test("other TXT values are ignored, and several DMARC records are reported as multiple", () => {
  assert.equal(discoverDmarc(["v=spf1 -all", "v=DMARC1; p=none"]).kind, "policy");
  assert.equal(discoverDmarc(["v=DMARC1; p=none", "v=DMARC1; p=reject"]).kind, "multiple");
  assert.equal(discoverDmarc(["hello"]).kind, "none");
  assert.equal(discoverDmarc(["v=DMARC1; rua=mailto:a@b.test"]).kind, "invalid");
});

test("the organizational domain covers its subdomains", () => {
  assert.equal(organizationPolicyName("a.news.example.co.uk"), "_dmarc.example.co.uk");
  assert.equal(organizationPolicyName("example.co.uk"), undefined);
});
