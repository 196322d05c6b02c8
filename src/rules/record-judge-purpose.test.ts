/** The judges one by one; what zones really hold is judged in record-judge.test.ts and its corpus. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lookup } from "../mail/dns-record.ts";
import { askedRecords, type RecordKey } from "./dns-records.ts";
import { judgeDkim, judgeDmarc, judgeMx, judgeSpf } from "./record-judge-purpose.ts";

const record = (key: RecordKey) =>
  askedRecords({ domain: "there.test", token: "abc", zone: "mail.here.test" }).find((one) => one.key === key)!;
const around = { chain: [], ttlSeconds: 60 };
const nothing = { kind: "nodata" as const, ...around };
const txt = (...texts: string[]) =>
  ({ kind: "found", records: texts.map((text) => ({ strings: [text] })), ...around }) as unknown as Lookup<"TXT">;
const cname = (target: string) => ({ kind: "found", records: [{ target }], ...around }) as unknown as Lookup<"CNAME">;
const mx = (...hosts: [number, string][]) =>
  ({
    kind: "found",
    records: hosts.map(([priority, exchange]) => ({ priority, exchange })),
    ...around,
  }) as unknown as Lookup<"MX">;

test("nothing there is missing, and no answer is neither missing nor wrong", () => {
  assert.equal(judgeDkim(record("dkim1"), { cname: nothing, txt: nothing }).status, "missing");
  assert.equal(judgeSpf(record("spf"), { txt: nothing }).status, "missing");
  assert.equal(judgeDmarc({ txt: nothing }).status, "missing");
  assert.equal(judgeMx(record("mx"), { mx: nothing }).status, "missing");
  const silent = { kind: "timeout" as const };
  const failed = { kind: "servfail" as const, reason: "refused" as const };
  assert.equal(judgeDkim(record("dkim1"), { cname: silent, txt: silent }).status, "unknown");
  assert.equal(judgeSpf(record("spf"), { txt: silent }).status, "unknown");
  assert.deepEqual(judgeMx(record("mx"), { mx: failed }), {
    status: "unknown",
    discoveredValue: "",
    note: "DNS failed (refused)",
  });
});

test("DKIM: our CNAME in any case, another one, and one that the provider added its domain to", () => {
  const { value } = record("dkim1");
  assert.equal(judgeDkim(record("dkim1"), { cname: cname(`${value.toUpperCase()}.`), txt: nothing }).status, "found");
  assert.match(judgeDkim(record("dkim1"), { cname: cname("else.test"), txt: nothing }).note, /leads elsewhere/);
  assert.match(
    judgeDkim(record("dkim1"), { cname: cname(`${value}.there.test`), txt: nothing }).note,
    /end it with a dot/,
  );
  assert.match(judgeDkim(record("dkim1"), { cname: nothing, txt: txt("v=DKIM1; p=") }).note, /revoked/);
  assert.match(judgeDkim(record("dkim1"), { cname: nothing, txt: txt("a", "b") }).note, /several TXT/);
});

test("SPF: a near miss is told as one", () => {
  assert.match(judgeSpf(record("spf"), { txt: txt('"v=spf1 -all"') }).note, /quotation marks/);
  assert.match(judgeSpf(record("spf"), { txt: txt(" v=spf1 -all") }).note, /white space/);
  assert.match(judgeSpf(record("spf"), { txt: txt("spf1 -all") }).note, /must start with v=spf1/);
});

test("DMARC: the organisation's policy covers a sub-domain, and two records are none", () => {
  const policy = "v=DMARC1; p=none";
  assert.equal(judgeDmarc({ txt: txt(policy) }).status, "found");
  assert.match(judgeDmarc({ txt: txt(policy, policy) }).note, /several DMARC/);
  const covered = judgeDmarc({ txt: nothing, organisation: { name: "_dmarc.there.test", txt: txt(policy) } });
  assert.deepEqual([covered.status, covered.note], ["found", "covered by the policy at _dmarc.there.test"]);
  assert.equal(judgeDmarc({ txt: nothing, organisation: { name: "x", txt: { kind: "timeout" } } }).status, "unknown");
});

test("MX: ours must come first; a null MX and an added domain are told", () => {
  const { value } = record("mx");
  assert.equal(judgeMx(record("mx"), { mx: mx([20, "b.test"], [10, `${value}.`]) }).status, "found");
  assert.match(judgeMx(record("mx"), { mx: mx([5, "b.test"], [10, value]) }).note, /another host comes before/);
  assert.match(judgeMx(record("mx"), { mx: mx([0, "."]) }).note, /null MX/);
  assert.match(judgeMx(record("mx"), { mx: mx([10, `${value}.there.test`]) }).note, /end it with a dot/);
  assert.match(judgeMx(record("mx"), { mx: mx([10, "b.test"]) }).note, /goes elsewhere/);
});
