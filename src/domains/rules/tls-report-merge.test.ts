import assert from "node:assert/strict";
import { test } from "node:test";
import { tlsReportMerge } from "./tls-report-merge.ts";

const ours = "v=TLSRPTv1; rua=mailto:tok@reports.mail.test,https://mail.test/tls-reports/tok";
const both = "mailto:tok@reports.mail.test,https://mail.test/tls-reports/tok";

const cases: [text: string, merged: string | undefined][] = [
  [ours, undefined],
  ["v=TLSRPTv1;rua=mailto:a@b.test , mailto:Tok@Reports.Mail.test", undefined],
  ["v=TLSRPTv1; rua=https://mail.test/tls-reports/tok;", undefined],
  ["v=TLSRPTv1; rua=mailto:a@b.test", `v=TLSRPTv1; rua=mailto:a@b.test,${both}`],
  ["v=TLSRPTv1; rua=mailto:a@b.test; x=1", `v=TLSRPTv1; rua=mailto:a@b.test,${both}; x=1`],
  ["v=TLSRPTv1; rua=", `v=TLSRPTv1; rua=${both}`],
  ["v=TLSRPTv1;", `v=TLSRPTv1; rua=${both}`],
];

for (const [text, merged] of cases)
  test(`merges ${text}`, () => {
    assert.equal(tlsReportMerge(text, ours), merged);
  });
