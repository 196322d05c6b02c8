import assert from "node:assert/strict";
import { test } from "node:test";
import { discoverDmarc, parseDmarc } from "./dmarc.ts";

const valid: [text: string, policy: string, warnings: string[]][] = [
  ["v=DMARC1; p=none", "none", []],
  ["v=DMARC1;p=reject", "reject", []],
  ["v = DMARC1 ; p = QUARANTINE ;", "quarantine", []],
  ["v=DMARC1; rua=mailto:a@b.test; p=none", "none", []],
  ["v=DMARC1; P=none", "none", []],
  ["v=DMARC1; p=none; adkim=x; aspf=s", "none", ["adkim="]],
  ["v=DMARC1; p=none; t=yes; psd=maybe", "none", ["psd=", "t="]],
  ["v=DMARC1; p=none; rua=a@b.test", "none", ["rua="]],
  ["v=DMARC1; p=none; unknown=1; fo=1", "none", []],
  ["v=DMARC1; p=none; nonsense; =x", "none", ["nonsense", "=x"]],
  ["v=DMARC1; p=reject; rua=mailto:a@b.test!10m", "reject", []],
];

for (const [text, policy, warnings] of valid) {
  test(`${text} is a valid policy`, () => {
    const reading = parseDmarc(text);
    assert.ok(reading.ok);
    assert.equal(reading.record.policy, policy);
    assert.deepEqual(reading.record.warnings, warnings);
    assert.equal(reading.record.assumed, undefined);
  });
}

const invalid: [text: string, problem: RegExp, malformed: boolean][] = [
  ["v=DMARC1", /no p=/, false],
  ["v=DMARC1; rua=nobody", /no p=/, false],
  ["v=DMARC1; p=nothing", /not one of/, false],
  ["v=DMARC1; p=none; sp=some", /sp=some/, false],
  ["v=DMARC1; p=reject; np=", /np= is not one of/, false],
  ["v=dmarc1; p=none", /start with/, true],
  ["p=none; v=DMARC1", /start with/, true],
  ["v=DMARC1 p=none", /start with/, true],
  [" v=DMARC1; p=none", /start with/, true],
  ["v=DMARC1; p=none; p=reject", /twice/, true],
];

for (const [text, problem, malformed] of invalid) {
  test(`${text} is not a valid policy`, () => {
    const reading = parseDmarc(text);
    assert.ok(!reading.ok);
    assert.match(reading.problem, problem);
    assert.equal(reading.malformed, malformed);
  });
}

test("a record that requests reports but has no valid policy counts as p=none", () => {
  for (const tags of ["", "p=nothing;", "p=reject; sp=some;", "p=reject; np=some;"]) {
    const reading = parseDmarc(`v=DMARC1; ${tags} rua=bad,mailto:a@b.test`);
    assert.ok(reading.ok, tags);
    const { policy, subdomainPolicy, nonexistentPolicy, assumed } = reading.record;
    assert.deepEqual([policy, subdomainPolicy, nonexistentPolicy], ["none", "none", "none"], tags);
    assert.ok(assumed);
  }
});

test("np falls back to sp, and sp to p", () => {
  const policies = (text: string) => {
    const reading = parseDmarc(`v=DMARC1; ${text}`);
    assert.ok(reading.ok);
    return [reading.record.policy, reading.record.subdomainPolicy, reading.record.nonexistentPolicy];
  };
  assert.deepEqual(policies("p=reject"), ["reject", "reject", "reject"]);
  assert.deepEqual(policies("p=reject; sp=none"), ["reject", "none", "none"]);
  assert.deepEqual(policies("p=none; np=reject"), ["none", "none", "reject"]);
  assert.deepEqual(policies("p=none; sp=quarantine; np=REJECT"), ["none", "quarantine", "reject"]);
});

test("psd and t are read, and the removed tags are named", () => {
  const reading = parseDmarc("v=DMARC1; p=reject; psd=Y; t=y; pct=20; ri=86400; rf=afrf");
  assert.ok(reading.ok);
  const { psd, testing, historic, warnings } = reading.record;
  assert.deepEqual([psd, testing, historic, warnings], ["y", true, ["pct=20", "rf=afrf", "ri=86400"], []]);
});

test("other TXT values are ignored; several records, and a record with a repeated tag, count as none", () => {
  assert.equal(discoverDmarc(["v=spf1 -all", "v=DMARC1; p=none"]).kind, "policy");
  assert.equal(discoverDmarc(["v=DMARC1; p=none", "v=DMARC1; p=reject"]).kind, "multiple");
  assert.equal(discoverDmarc(["hello"]).kind, "none");
  assert.equal(discoverDmarc(["v=DMARC1; p=none; p=none"]).kind, "malformed");
  assert.deepEqual(discoverDmarc(["v=DMARC1; psd=n"]), {
    kind: "invalid",
    text: "v=DMARC1; psd=n",
    problem: "it has no p= tag",
    psd: "n",
  });
});

test("a hostile record is read in linear time", () => {
  const long = 200_000;
  for (const text of [
    `v=DMARC1;${" ".repeat(long)}p=none`,
    `v=DMARC1; p=none;${"a;".repeat(long)}`,
    `v=DMARC1; p=none; rua=${"!1".repeat(long)}`,
    `v=DMARC1; p=none; rua=mailto:${"!".repeat(long)}${"1".repeat(long)}x`,
    `v=DMARC1; p=none; rua=mailto:${"%4".repeat(long)}`,
  ])
    assert.equal(discoverDmarc([text]).kind, "policy");
});
