import assert from "node:assert/strict";
import { test } from "node:test";
import { recordInstructions } from "./instructions.ts";
import { expectedRecords, type RecordKey } from "./records.ts";

const expected = expectedRecords({ domain: "news.shop.example", token: "tok", zone: "mail.test" });
const record = (key: RecordKey) => expected.find((one) => one.key === key) ?? assert.fail(key);

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
  const mergedValue = "v=spf1 a include:spf.mail.test -all";
  assert.match(
    recordInstructions(record("spf"), { ...two, mergedValue }),
    /at the name news, delete all of them and add a single TXT record with the value v=spf1 a include:spf\.mail\.test -all$/,
  );
  assert.match(
    recordInstructions(record("spf"), { ...found, mergedValue }),
    /replace the value of the SPF record with v=spf1 a include:spf\.mail\.test -all Do not add a second/,
  );
});

test("a quoted SPF value gets the advice to take the quotes off", () => {
  const found = { status: "mismatch", discoveredValue: '"v=spf1 include:spf.mail.test ~all"' } as const;
  const advice = recordInstructions(record("spf"), { ...found, mergedValue: "v=spf1 include:spf.mail.test ~all" });
  assert.match(
    advice,
    /take the quotation marks off the value of the TXT record: v=spf1 include:spf\.mail\.test ~all$/,
  );
  assert.doesNotMatch(advice, /before its last term/);
});
