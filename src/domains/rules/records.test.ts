import assert from "node:assert/strict";
import { test } from "node:test";
import { queriesOf } from "./check-plan.ts";
import { expectedRecords, type RecordKey, recordInstructions, recordKeys } from "./records.ts";

const expected = expectedRecords({ domain: "news.shop.example", token: "tok", zone: "mail.test" });
const record = (key: RecordKey) => expected.find((one) => one.key === key) ?? assert.fail(key);

test("a domain has seven expected records, each once", () => {
  assert.deepEqual(
    expected.map((one) => one.key),
    recordKeys,
  );
  assert.deepEqual(
    expected.map((one) => [one.type, one.nameShort, one.name, one.value, one.priority, one.need]),
    [
      ["CNAME", "ph1._domainkey", "ph1._domainkey.news.shop.example", "tok-1.dkim.mail.test", undefined, "required"],
      ["CNAME", "ph2._domainkey", "ph2._domainkey.news.shop.example", "tok-2.dkim.mail.test", undefined, "required"],
      ["TXT", "@", "news.shop.example", "v=spf1 include:spf.mail.test ~all", undefined, "recommended"],
      ["TXT", "_dmarc", "_dmarc.news.shop.example", "v=DMARC1; p=none", undefined, "required"],
      ["MX", "@", "news.shop.example", "inbound.mail.test", 10, "optional"],
      ["MX", "bounce", "bounce.news.shop.example", "feedback.mail.test", 10, "required"],
      ["TXT", "bounce", "bounce.news.shop.example", "v=spf1 include:spf.mail.test ~all", undefined, "required"],
    ],
  );
});

test("the MAIL FROM records use the chosen label", () => {
  const other = expectedRecords({ domain: "shop.example", token: "tok", zone: "mail.test", mailFromLabel: "returns" });
  assert.deepEqual(
    other.filter((one) => one.purpose.startsWith("MAIL_FROM")).map((one) => one.name),
    ["returns.shop.example", "returns.shop.example"],
  );
});

test("instructions give the name relative to the registrable domain, as a provider's form expects it", () => {
  const text = recordInstructions(record("dkim1"));
  assert.match(text, /DNS settings of shop\.example/);
  assert.match(text, /name ph1\._domainkey\.news and the value tok-1\.dkim\.mail\.test/);
  assert.match(recordInstructions(record("mx")), /name news and the value inbound\.mail\.test and priority 10/);
  const top = expectedRecords({ domain: "shop.example", token: "tok", zone: "mail.test" });
  assert.match(recordInstructions(top[2] ?? assert.fail()), /name @ /);
});

test("instructions warn if the MX record would redirect the domain's existing mail", () => {
  const found = { status: "mismatch", discoveredValue: "1 mx.office.example" } as const;
  assert.match(recordInstructions(record("mx"), found), /receives its mail at 1 mx\.office\.example.*sub-domain/);
  assert.match(recordInstructions(record("mx")), /Use a sub-domain instead/);
});

test("instructions never ask for a second SPF record", () => {
  assert.match(recordInstructions(record("spf")), /add include:spf\.mail\.test to it: a name must not have two/);
  const found = { status: "mismatch", discoveredValue: "v=spf1 include:office.example -all" } as const;
  assert.match(recordInstructions(record("spf"), found), /office\.example -all\): add include:spf\.mail\.test before/);
  const two = { status: "mismatch", discoveredValue: "v=spf1 -all | v=spf1 a -all" } as const;
  assert.match(recordInstructions(record("spf"), two), /merge them into one/);
});

test("the records of a domain need these DNS queries, each once", () => {
  const queries = expected.flatMap(queriesOf).map(({ name, type }) => `${name} ${type}`);
  assert.equal(new Set(queries).size, queries.length);
  assert.deepEqual(queries.toSorted(), [
    "_dmarc.news.shop.example TXT",
    "_dmarc.shop.example TXT",
    "bounce.news.shop.example MX",
    "bounce.news.shop.example TXT",
    "news.shop.example MX",
    "news.shop.example TXT",
    "ph1._domainkey.news.shop.example CNAME",
    "ph1._domainkey.news.shop.example TXT",
    "ph2._domainkey.news.shop.example CNAME",
    "ph2._domainkey.news.shop.example TXT",
  ]);
});
