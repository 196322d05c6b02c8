import assert from "node:assert/strict";
import { test } from "node:test";
import { noMessages } from "./counts.ts";
import { foundPolicy, type ProgressInput, progressOf } from "./progress.ts";

const address = "tok@reports.mail.test";
const ours = `rua=mailto:${address}`;

type Case = {
  name: string;
  text?: string;
  /** The record is at this name instead of the domain's own. */
  at?: string;
  days?: number;
  messages?: number;
  failed?: number;
  step: string;
  policy?: string;
  record?: string;
  message?: RegExp;
};

const cases: Case[] = [
  { name: "no record", step: "PUBLISH", record: `v=DMARC1; p=none; ${ours}`, message: /no DMARC policy/ },
  {
    name: "a record without reports",
    text: "v=DMARC1; p=none",
    step: "ADD_REPORTS",
    policy: "none",
    record: `v=DMARC1; p=none; ${ours}`,
  },
  {
    name: "reports that go to another service",
    text: "v=DMARC1; p=quarantine; pct=50; rua=mailto:x@other.test; adkim=s; fo=1",
    step: "ADD_REPORTS",
    policy: "quarantine",
    record: `v=DMARC1; p=quarantine; rua=mailto:x@other.test,mailto:${address}; adkim=s; fo=1`,
  },
  {
    name: "a parent's policy",
    text: "v=DMARC1; p=reject; sp=quarantine; np=reject; psd=n; rua=mailto:x@example.com",
    at: "_dmarc.example.com",
    step: "ADD_REPORTS",
    policy: "quarantine",
    record: `v=DMARC1; p=quarantine; rua=mailto:x@example.com,mailto:${address}`,
    message: /policy at _dmarc\.example\.com, which covers news\.example\.com,/,
  },
  {
    name: "a parent's policy with the address of the subdomain",
    text: `v=DMARC1; p=none; sp=reject; ${ours}`,
    at: "_dmarc.example.com",
    step: "ADD_REPORTS",
    policy: "reject",
    record: `v=DMARC1; p=reject; ${ours}`,
    message: /sends no reports about news\.example\.com to this service/,
  },
  {
    name: "an empty list of report addresses",
    text: "v=DMARC1; p=none; rua=",
    step: "ADD_REPORTS",
    record: `v=DMARC1; p=none; ${ours}`,
  },
  {
    name: "a list of report addresses with empty places",
    text: "v=DMARC1; p=none; rua=,mailto:x@other.test, ",
    step: "ADD_REPORTS",
    record: `v=DMARC1; p=none; rua=mailto:x@other.test,mailto:${address}`,
  },
  {
    name: "an invalid policy for subdomains, which makes receivers read the whole record as p=none",
    text: `v=DMARC1; p=reject; sp=all; np=; ${ours}`,
    days: 20,
    messages: 1000,
    step: "QUARANTINE",
    policy: "none",
    record: `v=DMARC1; p=quarantine; ${ours}`,
  },
  {
    name: "too few days",
    text: `v=DMARC1; p=none; ${ours}`,
    days: 6,
    messages: 100,
    step: "WAIT",
    message: /6 of the last 30/,
  },
  { name: "no reports yet", text: `v=DMARC1; p=none; ${ours}`, days: 0, messages: 0, step: "WAIT" },
  {
    name: "sources that fail",
    text: `v=DMARC1; p=none; ${ours}`,
    days: 20,
    messages: 1000,
    failed: 51,
    step: "FIX_SOURCES",
    message:
      /51 of 1,000 reported messages failed DMARC \(5\.1 %\), on 20 reported days\. big\.test reported 75 % of the messages\. Most failures came from 192\.0\.2\.1 \(40\), 203\.0\.113\.9 \(11, this service\)/,
  },
  {
    name: "reports without messages",
    text: `v=DMARC1; p=none; ${ours}`,
    days: 20,
    step: "WAIT",
    message: /count no messages/,
  },
  {
    name: "few failures, for quarantine",
    text: `v=DMARC1; p=none; t=y; pct=100; ${ours}; sp=none`,
    days: 7,
    messages: 1000,
    failed: 50,
    step: "QUARANTINE",
    policy: "none",
    record: `v=DMARC1; p=quarantine; ${ours}; sp=none`,
  },
  {
    name: "too many failures for reject",
    text: `v=DMARC1; p=quarantine; ${ours}`,
    days: 20,
    messages: 1000,
    failed: 11,
    step: "FIX_SOURCES",
  },
  {
    name: "too few days for reject",
    text: `v=DMARC1; p=quarantine; ${ours}`,
    days: 13,
    messages: 1000,
    failed: 0,
    step: "WAIT",
    message: /until they cover 14/,
  },
  {
    name: "few failures, for reject",
    text: `v=DMARC1; p=quarantine; ${ours}`,
    days: 14,
    messages: 1000,
    failed: 10,
    step: "REJECT",
    policy: "quarantine",
    record: `v=DMARC1; p=reject; ${ours}`,
    message: /on 14 reported days\. big\.test reported 75 % of the messages\. That is little/,
  },
  {
    name: "reject with a weaker policy for subdomains",
    text: `v=DMARC1; p=reject; sp=none; np=none; ${ours}`,
    days: 30,
    messages: 10,
    step: "REJECT",
    policy: "reject",
    record: `v=DMARC1; p=reject; ${ours}`,
    message: /subdomains have a weaker one/,
  },
  {
    name: "reject in test mode",
    text: `v=DMARC1; p=reject; t=y; ${ours}`,
    days: 30,
    messages: 1000,
    step: "REJECT",
    policy: "quarantine",
    record: `v=DMARC1; p=reject; ${ours}`,
  },
  {
    name: "test mode without reports",
    text: "v=DMARC1; p=reject; t=y; sp=none",
    step: "ADD_REPORTS",
    policy: "quarantine",
    record: `v=DMARC1; p=reject; t=y; sp=none; ${ours}`,
  },
  { name: "reject", text: `v=DMARC1; p=reject; ${ours}`, days: 0, messages: 0, step: "DONE", policy: "reject" },
  {
    name: "an address in another case with a size limit",
    text: "v=DMARC1; p=reject; rua=mailto:TOK@Reports.Mail.test!10m",
    step: "DONE",
  },
  {
    name: "a record that is too long to be changed",
    text: `v=DMARC1; p=none; rua=mailto:${"x".repeat(900)}…`,
    step: "ADD_REPORTS",
  },
];

for (const { name, text, at, days = 0, messages = 0, failed = 0, ...expected } of cases)
  test(`${name}: ${expected.step}`, () => {
    const domain = at ? "news.example.com" : "example.com";
    const note = at ? `covered by the policy at ${at}; more` : "";
    const policy = foundPolicy(
      domain,
      text === undefined ? undefined : { status: "found", discoveredValue: text, note },
    );
    const input: ProgressInput = {
      domain,
      address,
      policy,
      recent: { ...noMessages, messages, aligned: messages - failed },
      daysReported: days,
      largest: { reporter: "big.test", messages: 750 },
      failing: [
        { ip: "192.0.2.1", failed: 40, own: false },
        { ip: "203.0.113.9", failed: 11, own: true },
      ],
    };
    const progress = progressOf(input);
    assert.equal(progress.step, expected.step, progress.message);
    assert.equal(progress.recordValue, expected.record ?? "");
    assert.equal(progress.recordName, expected.record ? `_dmarc.${domain}` : "");
    assert.equal(progress.policyName, text === undefined ? "" : (at ?? `_dmarc.${domain}`));
    if (expected.policy) assert.equal(progress.policy, expected.policy);
    if (expected.message) assert.match(progress.message, expected.message);
  });

test("only a valid record that a check found is a policy", () => {
  const stored = { status: "found", discoveredValue: "v=DMARC1; p=none", note: "" };
  assert.equal(foundPolicy("a.test", stored)?.name, "_dmarc.a.test");
  for (const other of [undefined, { ...stored, status: "mismatch" }, { ...stored, discoveredValue: "hello" }])
    assert.equal(foundPolicy("a.test", other), undefined);
});
