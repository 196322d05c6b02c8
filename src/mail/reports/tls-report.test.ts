import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ReportProblem } from "./refusal.ts";
import { maxTlsBytes, readTlsReport } from "./tls-report.ts";

const text = readFileSync("test/corpus/reports/tls.json", "utf8");

test("reads a TLS report", () => {
  assert.deepEqual(readTlsReport(Buffer.from(text)), {
    kind: "tls",
    organization: "Sender Inc.",
    reportId: "5065427c-23d3-47ca-b6e0-946ea0e8c4be",
    beginMs: Date.UTC(2026, 10, 17),
    endMs: Date.UTC(2026, 10, 17, 23, 59, 59),
    domains: ["example.com"],
    succeeded: 5326,
    failed: 303,
    failures: [
      {
        resultType: "certificate-expired",
        policyType: "sts",
        sendingIp: "2001:db8:abcd:12::1",
        receivingMx: "inbound.mail.example",
        sessions: 100,
      },
      {
        resultType: "starttls-not-supported",
        policyType: "sts",
        sendingIp: "192.0.2.99",
        receivingMx: "inbound.mail.example",
        sessions: 200,
      },
      { resultType: "validation-failure", policyType: "sts", sendingIp: "", receivingMx: "", sessions: 3 },
    ],
  });
});

const wrong: [string, string, RegExp][] = [
  [text.slice(0, -3), "cut", /not valid JSON/],
  ["[".repeat(1_000_000), "deep", /not valid JSON/],
  ["[]", "a list", /not a JSON object/],
  [text.replace('"policies"', '"policy"'), "no policies", /policies is not a JSON array/],
  [text.replace("5326", "-1"), "negative", /non-negative integer/],
  [text.replace("5326", "1e400"), "infinite", /non-negative integer/],
  [text.replace("5326", "1000000000"), "too many sessions", /more than 1000000000 sessions/],
  [
    text.replace(/"failed-session-count": \d+/g, '"failed-session-count": 1000000000'),
    "too many failures",
    /more than 1000000000 sessions/,
  ],
  [text.replace('"example.com"', '"a b"'), "bad domain", /policy-domain/],
  [text.replace("2026-11-17T00:00:00Z", "yesterday"), "bad date", /date-range/],
  [text.replace(/"report-id": "[^"]+"/, '"report-id": 7'), "no id", /report-id/],
  [" ".repeat(maxTlsBytes) + text, "too large", /more than/],
];

for (const [json, name, message] of wrong)
  test(`refuses a TLS report: ${name}`, () => {
    assert.throws(
      () => readTlsReport(Buffer.from(json)),
      (error) => error instanceof ReportProblem && message.test(error.message),
    );
  });
