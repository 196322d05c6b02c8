import assert from "node:assert/strict";
import { test } from "node:test";
import { goodFacts } from "../../../test/harness/deliverability-facts.ts";
import { judgeAlignment, judgeDkim, judgeDkimKey, judgeDmarc, judgeDmarcReports, judgeSpf } from "./authentication.ts";
import type { DkimFacts, DmarcFacts, Facts } from "./facts.ts";

const withDkim = (change: Partial<DkimFacts>): Facts => ({
  ...goodFacts,
  dkim: { ...(goodFacts.dkim as DkimFacts), ...change },
});
const withDmarc = (change: Partial<DmarcFacts>): Facts => ({
  ...goodFacts,
  dmarc: { ...(goodFacts.dmarc as DmarcFacts), ...change },
});

test("DKIM passes only if receivers verify the signature", () => {
  assert.equal(judgeDkim(goodFacts).result, "pass");
  for (const result of ["fail", "neutral", "none", "permerror", "policy"]) {
    const verdict = judgeDkim(withDkim({ result, records: [{ type: "CNAME", name: "ph1", value: "x" }] }));
    assert.equal(verdict.result, "fail", result);
    assert.equal(verdict.records?.length, 1);
  }
  assert.equal(judgeDkim(withDkim({ result: "temperror" })).result, "unknown");
  assert.equal(judgeDkim({ ...goodFacts, dkim: undefined }).result, "fail");
});

test("a key needs 1024 bits, and 2048 are recommended", () => {
  const resultOf = (bits: number) => judgeDkimKey(withDkim({ bits })).result;
  assert.deepEqual([512, 1023, 1024, 1536, 2048, 4096].map(resultOf), ["fail", "fail", "warn", "warn", "pass", "pass"]);
});

test("SPF must pass for every sending address", () => {
  const spf = [
    { address: "1.2.3.4", result: "pass", comment: "" },
    { address: "1.2.3.5", result: "softfail", comment: "" },
  ];
  const verdict = judgeSpf({ ...goodFacts, spf });
  assert.equal(verdict.result, "fail");
  assert.match(verdict.found, /1\.2\.3\.5 \(softfail\)/);
  assert.equal(judgeSpf({ ...goodFacts, spf: [{ ...spf[0]!, result: "temperror" }] }).result, "unknown");
  assert.equal(judgeSpf({ ...goodFacts, delivery: "relay" }).result, "unknown");
  assert.equal(judgeSpf({ ...goodFacts, hosts: [] }).result, "fail");
  assert.equal(judgeSpf({ ...goodFacts, hosts: [], delivery: "capture" }).result, "unknown");
});

test("From is aligned with DKIM, with SPF or with both, by the mode of the record and the organizational domains", () => {
  const withNames = (change: Partial<Facts>, organizations: Record<string, string>): Facts => ({
    ...goodFacts,
    ...change,
    organizations: new Map([...goodFacts.organizations, ...Object.entries(organizations)]),
  });
  assert.equal(judgeAlignment(goodFacts).result, "pass");
  const returned = withNames({ returnPathDomain: "bounce.mail.test" }, { "bounce.mail.test": "mail.test" });
  assert.equal(judgeAlignment(returned).result, "warn");
  assert.equal(judgeAlignment(withNames({ fromDomain: "gmail.com" }, { "gmail.com": "gmail.com" })).result, "fail");
  const strict = withDmarc({ alignment: { dkim: "s", spf: "s" } });
  assert.equal(judgeAlignment(strict).result, "warn", "the return path is below the domain");
  assert.equal(judgeAlignment({ ...strict, fromDomain: "news.example.com" }).result, "fail");
  // psd=n at a subdomain makes it an organization of its own.
  const own = withNames({ fromDomain: "news.example.com" }, { "news.example.com": "news.example.com" });
  assert.equal(judgeAlignment(own).result, "fail");
  assert.equal(judgeAlignment({ ...goodFacts, organizations: new Map() }).result, "unknown");
});

test("DMARC: none is enough, and the next step is named", () => {
  assert.match(judgeDmarc(goodFacts).found, /p=none.*enough.*p=quarantine/);
  assert.match(judgeDmarc(withDmarc({ policy: "quarantine" })).found, /p=reject/);
  const tested = judgeDmarc(withDmarc({ policy: "reject", testing: true }));
  assert.match(tested.found, /p=reject in test mode \(t=y\): receivers apply quarantine/);
  assert.doesNotMatch(tested.found, /strictest/);
  const assumed = judgeDmarc(withDmarc({ assumed: "it has no p= tag" }));
  assert.deepEqual([assumed.result, assumed.found.startsWith("It has no p= tag")], ["warn", true]);
  assert.equal(judgeDmarc(withDmarc({ status: "missing" })).result, "fail");
  const wrong = judgeDmarc(withDmarc({ status: "mismatch", note: "the DMARC record is invalid: it has no p= tag" }));
  assert.deepEqual([wrong.result, wrong.records?.length], ["fail", 1]);
  const quiet = judgeDmarcReports(withDmarc({ reportsTo: [], value: "v=DMARC1; p=none;" }));
  assert.equal(quiet.result, "warn");
  assert.equal(quiet.records?.[0]?.value, "v=DMARC1; p=none; rua=mailto:token@reports.mail.test");
  // A tag that occurs twice makes the record invalid.
  const invalid = judgeDmarcReports(withDmarc({ reportsTo: [], value: "v=DMARC1; RUA = a@b.test ; p=none" }));
  assert.equal(invalid.records?.[0]?.value, "v=DMARC1; p=none; rua=mailto:token@reports.mail.test");
  // The value of the parent would mean something else at the name of the domain.
  const covered = judgeDmarcReports(
    withDmarc({ reportsTo: [], value: "v=DMARC1; p=none; sp=reject", isInherited: true }),
  );
  assert.deepEqual([covered.result, covered.records], ["warn", []]);
  assert.match(covered.fix!, /record of the parent domain/);
});
