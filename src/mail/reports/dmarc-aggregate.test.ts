import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { readDmarcReport } from "./dmarc-aggregate.ts";
import { ReportProblem } from "./refusal.ts";

const corpus = "test/corpus/reports";
const day = Date.UTC(2026, 10, 17);

test("reads a report of RFC 9990", () => {
  const report = readDmarcReport(readFileSync(`${corpus}/dmarc-rfc9990.xml`));
  assert.deepEqual(report, {
    kind: "dmarc",
    organization: "Receiver & Sons",
    reportId: "3v98abbp8ya9n3va8yr8oa3ya",
    beginMs: day,
    endMs: day + 86_399_000,
    domain: "example.com",
    rows: [
      {
        ip: "192.0.2.123",
        headerFrom: "example.com",
        counts: {
          messages: 123,
          aligned: 123,
          dkimAligned: 123,
          spfAligned: 0,
          delivered: 123,
          quarantined: 0,
          rejected: 0,
        },
        dkimDomains: ["example.com"],
        spfDomains: ["example.com"],
        overrides: [],
      },
      {
        ip: "2001:db8::25",
        headerFrom: "news.example.com",
        counts: { messages: 4, aligned: 0, dkimAligned: 0, spfAligned: 0, delivered: 0, quarantined: 4, rejected: 0 },
        dkimDomains: ["list.example.org"],
        spfDomains: ["bounce.example.org"],
        overrides: ["mailing_list"],
      },
    ],
  });
});

test("reads a report of RFC 7489 and adds the records of one address", () => {
  const { rows, organization } = readDmarcReport(readFileSync(`${corpus}/dmarc-rfc7489.xml`));
  assert.equal(organization, "older.example");
  assert.equal(rows.length, 1);
  assert.deepEqual(rows[0]!.counts, {
    messages: 5,
    aligned: 2,
    dkimAligned: 0,
    spfAligned: 2,
    delivered: 2,
    quarantined: 0,
    rejected: 3,
  });
  assert.deepEqual(rows[0]!.spfDomains, ["example.com", "spam.example"]);
});

/** What each hostile report is refused with. A report with one usable record is read, without the others. */
const refusals: Record<string, RegExp> = {
  "external-entity": /document type/,
  "billion-laughs": /document type/,
  "undefined-entity": /not well-formed/,
  "other-root": /not a DMARC report/,
  "negative-count": /count of a record/,
  "count-with-exponent": /count of a record/,
  "no-address": /not an IP address/,
  "two-policies": /two policy_published/,
  "other-header-from": /about the domain of its policy/,
  "no-domain": /names no domain/,
  "no-report-id": /no report_id/,
  "dates-in-words": /not in seconds/,
  "other-encoding": /encoding/,
  "not-closed": /not well-formed/,
  nested: /nested too deeply/,
  "text-after-end": /not well-formed/,
  "record-without-row": /no row/,
};

const hostile = globSync(`${corpus}/hostile/*.xml`);

test("the corpus of hostile reports has an expectation for each file", () => {
  assert.deepEqual(hostile.map((file) => basename(file, ".xml")).sort(), Object.keys(refusals).sort());
});

for (const file of hostile)
  test(`refuses ${basename(file)}`, () => {
    assert.throws(
      () => readDmarcReport(readFileSync(file)),
      (error) => error instanceof ReportProblem && refusals[basename(file, ".xml")]!.test(error.message),
    );
  });

test("reads UTF-16", () => {
  const xml = readFileSync(`${corpus}/dmarc-rfc9990.xml`, "utf8").replace("UTF-8", "UTF-16");
  assert.equal(readDmarcReport(Buffer.from(`\ufeff${xml}`, "utf16le")).rows.length, 2);
});

test("keeps the largest addresses, so that the event loop gets a short list, and counts the others together", () => {
  const record = (
    ip: number,
  ) => `<record><row><source_ip>10.${ip >> 16}.${(ip >> 8) & 255}.${ip & 255}</source_ip><count>${ip < 20_000 ? ip : 1}</count>
    <policy_evaluated><disposition>none</disposition><dkim>fail</dkim><spf>fail</spf></policy_evaluated></row>
    <identifiers><header_from>example.com</header_from></identifiers></record>`;
  const xml = readFileSync(`${corpus}/dmarc-rfc7489.xml`, "latin1").replace(
    /<record>.*<\/record>/s,
    Array.from({ length: 20_005 }, (_, ip) => record(ip)).join(""),
  );
  const { rows } = readDmarcReport(Buffer.from(xml));
  assert.equal(rows.length, 2001);
  const others = rows.filter(({ ip }) => ip === "").map(({ counts }) => counts.messages);
  assert.deepEqual(others, [(18_000 * 17_999) / 2 + 5]);
  assert.deepEqual(
    rows.filter(({ ip }) => ip !== "").filter(({ counts }) => counts.messages < 18_000),
    [],
  );
});

test("refuses a report with more messages than a receiver gets, in records that are each within the limit", () => {
  const file = readFileSync(`${corpus}/dmarc-rfc7489.xml`, "latin1");
  const [record] = /<record>.*?<\/record>/s.exec(file)!;
  const large = record!.replace(/<count>\d+</, "<count>1000000000<");
  const report = (records: number) => Buffer.from(file.replace(/<record>.*<\/record>/s, large.repeat(records)));
  assert.equal(readDmarcReport(report(1)).rows[0]!.counts.messages, 1_000_000_000);
  assert.throws(() => readDmarcReport(report(2)), /more than 1000000000 messages/);
});
