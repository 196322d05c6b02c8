import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDmarc } from "../../mail/dmarc.ts";
import { dmarcRemarks } from "./dmarc-remarks.ts";

function remarks(tags: string, inherited = false): string[] {
  const reading = parseDmarc(`v=DMARC1; ${tags}`);
  assert.ok(reading.ok, tags);
  return dmarcRemarks(reading.record, { inherited });
}

const reports = "rua=mailto:a@b.test";

const cases: [tags: string, remark: RegExp, inherited?: boolean][] = [
  ["p=none", /no rua=/],
  [`p=reject; t=y; ${reports}`, /t=y: receivers apply quarantine instead of reject/],
  [`p=quarantine; t=y; ${reports}`, /apply none instead of quarantine/],
  [`p=none; sp=reject; t=y; ${reports}`, /apply quarantine instead of reject/, true],
  [`p=reject; sp=none; ${reports}`, /sp=none is weaker than p=reject/],
  [`p=reject; np=quarantine; ${reports}`, /np=quarantine is weaker/],
  [`p=reject; pct=20; ${reports}`, /^receivers ignore pct=20 \(historic\); to test a policy, use t=y$/],
  [`p=reject; pct=100; ri=60; ${reports}`, /^receivers ignore pct=100, ri=60 \(historic\)$/],
  [reports, /^it has no p= tag, so receivers read the record as p=none$/],
  [`p=none; adkim=x; ${reports}`, /^receivers ignore adkim= \(no valid value\)$/],
];

for (const [tags, remark, inherited] of cases) {
  test(`the remark on ${tags}${inherited ? " of a parent" : ""}`, () => {
    const all = remarks(tags, inherited);
    assert.equal(all.length, 1, all.join("; "));
    assert.match(all[0]!, remark);
  });
}

test("a record without flaws has no remark", () => {
  for (const tags of ["p=none", "p=none; t=y", "p=reject; sp=reject; np=reject", "p=none; np=reject; psd=n"])
    assert.deepEqual(remarks(`${tags}; ${reports}`), []);
});

test("a record whose rua has no valid address is not told to add another tag, which would make it invalid", () => {
  const address = "tok@reports.mail.test";
  for (const rua of ["rua=", "rua=a@b.test"]) {
    const reading = parseDmarc(`v=DMARC1; p=none; ${rua}`);
    assert.ok(reading.ok);
    const advice = "its rua= has no valid address, so receivers send no reports";
    assert.deepEqual(dmarcRemarks(reading.record, { inherited: false, address }), [
      `${advice}; replace it with rua=mailto:${address} to see them here`,
    ]);
    assert.deepEqual(dmarcRemarks(reading.record, { inherited: true, address }), [advice]);
  }
});
