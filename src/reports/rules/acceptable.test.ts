import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReceivedReport } from "../../mail/reports/read.ts";
import { problemOf } from "./acceptable.ts";

const day = 86_400_000;
const now = Date.UTC(2026, 10, 18);
const base = { organization: "x", reportId: "1", beginMs: now - 2 * day, endMs: now - day };
const dmarc: ReceivedReport = { ...base, kind: "dmarc", domain: "example.com", rows: [] };
const tls: ReceivedReport = { ...base, kind: "tls", domains: ["example.com"], succeeded: 0, failed: 0, failures: [] };

const cases: [string, ReceivedReport, RegExp | undefined][] = [
  ["of the domain", dmarc, undefined],
  ["of a subdomain", { ...dmarc, domain: "news.example.com" }, undefined],
  ["of another domain", { ...dmarc, domain: "other.example" }, /not about example.com/],
  ["of a domain with the same end", { ...dmarc, domain: "notexample.com" }, /not about/],
  ["of the parent", { ...dmarc, domain: "com" }, /not about/],
  ["of TLS", tls, undefined],
  ["of TLS for two domains", { ...tls, domains: ["example.com", "other.example"] }, /not about/],
  ["backward", { ...dmarc, beginMs: now, endMs: now - 1 }, /ends before/],
  ["of one second", { ...dmarc, endMs: base.beginMs }, undefined],
  ["of a month", { ...dmarc, beginMs: now - 9 * day, endMs: now }, /longer than/],
  ["of the day after tomorrow", { ...dmarc, beginMs: now + day, endMs: now + 2 * day }, /future/],
  ["of today", { ...dmarc, beginMs: now, endMs: now + day }, undefined],
  ["of last month", { ...dmarc, beginMs: now - 30 * day, endMs: now - 29 * day }, /ago/],
];

for (const [name, report, message] of cases)
  test(`a report ${name} ${message ? "is refused" : "counts"}`, () => {
    const problem = problemOf(report, "example.com", now);
    if (message) assert.match(problem ?? "", message);
    else assert.equal(problem, undefined);
  });
