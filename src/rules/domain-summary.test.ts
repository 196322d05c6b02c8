import assert from "node:assert/strict";
import { test } from "node:test";
import { askedRecords, type RecordKey } from "./dns-records.ts";
import { type JudgedRecord, summarise } from "./domain-summary.ts";

const asked = askedRecords({ domain: "shop.example", token: "tok", zone: "mail.test" });
const needed: RecordKey[] = ["dkim1", "dkim2", "dmarc", "mailFromMx", "mailFromSpf"];

function judged(
  found: readonly RecordKey[],
  others: Partial<Record<RecordKey, Partial<JudgedRecord>>> = {},
): JudgedRecord[] {
  return asked.map((record) => ({
    record,
    status: found.includes(record.key) ? "found" : "missing",
    discoveredValue: "",
    note: "",
    ...others[record.key],
  }));
}

test("nothing there: the first record with its value, the others by name", () => {
  const summary = summarise("shop.example", "pending", judged([]));
  assert.equal(summary.nextAction, "CONFIGURE_DNS");
  assert.deepEqual([summary.recordsPending, summary.recordsConfigured], [7, 0]);
  assert.deepEqual([summary.canSend, summary.canReceive], [false, false]);
  assert.match(
    summary.message,
    /Add the CNAME record ph1\._domainkey with the value tok-1\.dkim\.mail\.test in the DNS of shop\.example/,
  );
  assert.match(summary.message, /Then see to: .*MX bounce\.shop\.example/);
});

test("before the first check nothing is claimed about DNS", () => {
  const fresh = judged([]).map((one) => ({ ...one, status: "pending" as const }));
  const { message } = summarise("shop.example", "pending", fresh);
  assert.match(
    message,
    /^The records of shop\.example were not looked up yet\. Nothing can be sent yet\. Add the CNAME/,
  );
  const silent = fresh.map((one) => ({ ...one, unanswered: true }));
  assert.match(summarise("shop.example", "pending", silent).message, /DNS could not be asked in the last check/);
});

test("a wrong record: what was found, what is wanted", () => {
  const wrong = { status: "mismatch", discoveredValue: "v=DMARC1", note: "it has no p= tag" } as const;
  const summary = summarise(
    "shop.example",
    "verifying",
    judged(
      needed.filter((key) => key !== "dmarc"),
      { dmarc: wrong },
    ),
  );
  assert.match(
    summary.message,
    /TXT record at _dmarc\.shop\.example is not right: it has no p= tag\. Found: v=DMARC1\. Wanted: v=DMARC1; p=none\./,
  );
  assert.match(summary.message, /Mail can be sent meanwhile/);
  assert.ok(summary.canSend);
});

test("all that lacks is on its way: wait", () => {
  const waiting = { waiting: true };
  const summary = summarise(
    "shop.example",
    "verifying",
    judged(["dkim1", "dkim2"], { dmarc: waiting, mailFromMx: waiting, mailFromSpf: waiting }),
  );
  assert.equal(summary.nextAction, "WAIT");
  assert.match(summary.message, /Nothing is left to do/);
  const one = summarise(
    "shop.example",
    "verifying",
    judged(["dkim1", "dkim2"], { dmarc: waiting, mailFromMx: waiting }),
  );
  assert.equal(one.nextAction, "CONFIGURE_DNS");
  assert.match(one.message, /Add the TXT record bounce /);
});

test("ready: nothing to do, though SPF is recommended and MX is free", () => {
  const summary = summarise("shop.example", "ready", judged(needed));
  assert.equal(summary.nextAction, "NONE");
  assert.deepEqual([summary.recordsPending, summary.recordsConfigured], [2, 5]);
  assert.equal(summary.message, "shop.example is ready. Recommended as well: the TXT record at shop.example.");
  assert.equal(summarise("shop.example", "ready", judged([...needed, "spf", "mx"])).message, "shop.example is ready.");
});

test("silence of DNS is said", () => {
  const silent = { unanswered: true };
  const all = Object.fromEntries(asked.map(({ key }) => [key, silent]));
  assert.match(
    summarise("shop.example", "ready", judged(needed, all)).message,
    /DNS could not be asked in the last check/,
  );
  assert.match(
    summarise("shop.example", "ready", judged(needed, { dmarc: silent })).message,
    /no answer for TXT _dmarc\.shop\.example/,
  );
});

test("failed: says why and how it ends", () => {
  const summary = summarise("shop.example", "failed", judged(["dmarc"]));
  assert.match(summary.message, /72 hours.*recovers by itself.*ph1\._domainkey/s);
  assert.ok(!summary.canSend);
});
