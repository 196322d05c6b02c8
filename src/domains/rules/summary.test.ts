import assert from "node:assert/strict";
import { test } from "node:test";
import { expectedRecords, type RecordKey } from "./records.ts";
import { type JudgedRecord, summarize } from "./summary.ts";

const expected = expectedRecords({ domain: "shop.example", token: "tok", zone: "mail.test" });
const needed: RecordKey[] = ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"];

function judged(
  found: readonly RecordKey[],
  others: Partial<Record<RecordKey, Partial<JudgedRecord>>> = {},
): JudgedRecord[] {
  return expected.map((record) => ({
    record,
    status: found.includes(record.key) ? "found" : "missing",
    discoveredValue: "",
    note: "",
    ...others[record.key],
  }));
}

test("without any record, the message has the value of the first record and the names of the others", () => {
  const summary = summarize("shop.example", "pending", judged([]));
  assert.equal(summary.nextAction, "CONFIGURE_DNS");
  assert.deepEqual([summary.recordsPending, summary.recordsConfigured], [7, 0]);
  assert.deepEqual([summary.canSend, summary.canReceive], [false, false]);
  assert.match(
    summary.message,
    /Add the CNAME record ph1\._domainkey with the value tok-1\.dkim\.mail\.test in the DNS of shop\.example/,
  );
  assert.match(summary.message, /Then fix: .*MX bounce\.shop\.example/);
});

test("before the first check, the message makes no claim about DNS", () => {
  const pending = judged([]).map((one) => ({ ...one, status: "pending" as const }));
  const { message } = summarize("shop.example", "pending", pending);
  assert.match(
    message,
    /^The records of shop\.example have not been checked yet\. Mail cannot be sent yet\. Add the CNAME/,
  );
  const silent = pending.map((one) => ({ ...one, unanswered: true }));
  assert.match(summarize("shop.example", "pending", silent).message, /DNS did not answer in the last check/);
});

test("for a wrong record, the message has the value found and the value expected", () => {
  const wrong = { status: "mismatch", discoveredValue: "v=DMARC1", note: "it has no p= tag" } as const;
  const summary = summarize(
    "shop.example",
    "verifying",
    judged(
      needed.filter((key) => key !== "dmarc"),
      { dmarc: wrong },
    ),
  );
  assert.match(
    summary.message,
    /TXT record at _dmarc\.shop\.example is wrong: it has no p= tag\. Found: v=DMARC1\. Expected: v=DMARC1; p=none; rua=mailto:tok@reports\.mail\.test\./,
  );
  assert.match(summary.message, /Mail can already be sent/);
  assert.ok(summary.canSend);
});

test("the next action is WAIT only if every missing record is already at the provider", () => {
  const waiting = { waiting: true };
  const summary = summarize(
    "shop.example",
    "verifying",
    judged(["dkim1", "dkim2"], { dmarc: waiting, mailFromMx: waiting, mailFromSpf: waiting }),
  );
  assert.equal(summary.nextAction, "WAIT");
  assert.match(summary.message, /You do not need to do anything/);
  const one = summarize(
    "shop.example",
    "verifying",
    judged(["dkim1", "dkim2"], { dmarc: waiting, mailFromMx: waiting }),
  );
  assert.equal(one.nextAction, "CONFIGURE_DNS");
  assert.match(one.message, /Add the TXT record bounce /);
});

test("a ready domain needs no action; a missing SPF record is recommended and MX is optional", () => {
  const summary = summarize("shop.example", "ready", judged(needed));
  assert.equal(summary.nextAction, "NONE");
  assert.deepEqual([summary.recordsPending, summary.recordsConfigured], [2, 5]);
  assert.equal(summary.message, "shop.example is ready. Also recommended: the TXT record at shop.example.");
  assert.equal(summarize("shop.example", "ready", judged([...needed, "spf", "mx"])).message, "shop.example is ready.");
});

test("the message reports records without an answer from DNS", () => {
  const silent = { unanswered: true };
  const all = Object.fromEntries(expected.map(({ key }) => [key, silent]));
  assert.match(summarize("shop.example", "ready", judged(needed, all)).message, /DNS did not answer in the last check/);
  assert.match(
    summarize("shop.example", "ready", judged(needed, { dmarc: silent })).message,
    /no answer for TXT _dmarc\.shop\.example/,
  );
});

test("the message of a failed domain has the reason and how it recovers", () => {
  const summary = summarize("shop.example", "failed", judged(["dmarc"]));
  assert.match(summary.message, /72 hours.*recovers automatically.*ph1\._domainkey/s);
  assert.ok(!summary.canSend);
});

test("wrong values are listed, and the message does not say that nothing was found", () => {
  const wrong = (discoveredValue: string) => ({ status: "mismatch", discoveredValue, note: "it is wrong" }) as const;
  const { message } = summarize(
    "shop.example",
    "pending",
    judged([], { dkim1: wrong("a.example"), dkim2: wrong("b.example"), mailFromMx: wrong("10 c.example") }),
  );
  assert.match(message, /^3 records of shop\.example have a wrong value\./);
  assert.match(
    message,
    /Also wrong: CNAME ph2\._domainkey\.shop\.example \(found: b\.example\), MX bounce\.shop\.example \(found: 10 c\.example\)\./,
  );
  assert.match(message, /Then fix: TXT _dmarc\.shop\.example/);
  assert.doesNotMatch(message, /No record/);
});

test("the record for TLS reports changes neither the message nor the counts", () => {
  const receiving = expectedRecords({ domain: "shop.example", token: "tok", zone: "mail.test", canReceive: true });
  const without = judged(expected.map(({ key }) => key));
  for (const status of ["pending", "missing", "mismatch", "found"] as const) {
    const tlsReport = { record: receiving.at(-1)!, status, discoveredValue: "x", note: "y", unanswered: true };
    assert.deepEqual(
      summarize("shop.example", "ready", [...without, tlsReport]),
      summarize("shop.example", "ready", without),
    );
  }
});
