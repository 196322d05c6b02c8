import assert from "node:assert/strict";
import { test } from "node:test";
import { planCheck } from "./check-plan.ts";
import { askedRecords, type RecordKey, recordInstructions, recordKeys } from "./dns-records.ts";

const asked = askedRecords({ domain: "news.shop.example", token: "tok", zone: "mail.test" });
const record = (key: RecordKey) => asked.find((one) => one.key === key) ?? assert.fail(key);

test("seven records, each once, as a person enters them", () => {
  assert.deepEqual(
    asked.map((one) => one.key),
    recordKeys,
  );
  assert.deepEqual(
    asked.map((one) => [one.type, one.nameShort, one.name, one.value, one.priority, one.need]),
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

test("another label for the return path", () => {
  const other = askedRecords({ domain: "shop.example", token: "tok", zone: "mail.test", mailFromLabel: "returns" });
  assert.deepEqual(
    other.filter((one) => one.purpose.startsWith("MAIL_FROM")).map((one) => one.name),
    ["returns.shop.example", "returns.shop.example"],
  );
});

test("instructions name what goes into the form of a provider that holds the registrable domain", () => {
  const text = recordInstructions(record("dkim1"));
  assert.match(text, /DNS settings of shop\.example/);
  assert.match(text, /name ph1\._domainkey\.news and the value tok-1\.dkim\.mail\.test/);
  assert.match(recordInstructions(record("mx")), /name news and the value inbound\.mail\.test and priority 10/);
  const top = askedRecords({ domain: "shop.example", token: "tok", zone: "mail.test" });
  assert.match(recordInstructions(top[2] ?? assert.fail()), /name @ /);
});

test("instructions warn where the company's mail would move", () => {
  const found = { status: "mismatch", discoveredValue: "1 mx.office.example" } as const;
  assert.match(recordInstructions(record("mx"), found), /receives its mail at 1 mx\.office\.example.*sub-domain/);
  assert.match(recordInstructions(record("mx")), /Use a sub-domain instead/);
});

test("instructions never ask for a second SPF record", () => {
  assert.match(recordInstructions(record("spf")), /put include:spf\.mail\.test into it: a name must never have two/);
  const found = { status: "mismatch", discoveredValue: "v=spf1 include:office.example -all" } as const;
  assert.match(recordInstructions(record("spf"), found), /office\.example -all\): put include:spf\.mail\.test into it/);
  const two = { status: "mismatch", discoveredValue: "v=spf1 -all | v=spf1 a -all" } as const;
  assert.match(recordInstructions(record("spf"), two), /merge them into one/);
});

test("a check asks each question once", () => {
  const questions = planCheck(asked).map(({ name, type }) => `${name} ${type}`);
  assert.equal(new Set(questions).size, questions.length);
  assert.deepEqual(questions.toSorted(), [
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
