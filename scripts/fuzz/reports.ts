/** Fuzz target for reports about domains: DMARC reports in XML, TLS reports in JSON, gzip and zip. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { readReport } from "../../src/mail/reports/read.ts";
import { bytes } from "./inputs.ts";
import { target } from "./target.ts";

const files = globSync(new URL("../../test/corpus/reports/**/*.{xml,json}", import.meta.url).pathname);
const corpus = files.map((file) => readFileSync(file)).flatMap((file) => [file, gzipSync(file)]);

const tokens = [
  "<feedback>",
  "</feedback>",
  "<record><row>",
  "</row></record>",
  "<source_ip>192.0.2.1</source_ip>",
  "<count>",
  "</count>",
  "<![CDATA[",
  "]]>",
  "<!DOCTYPE x [",
  "<!ENTITY a 'b'>",
  "&a;",
  "&#0;",
  "<?xml version='1.0' encoding='utf-16'?>",
  '{"policies":[',
  '{"policy":{"policy-domain":"a.test"}}',
  "]}",
  "PK\x03\x04",
  "PK\x01\x02",
  "PK\x05\x06",
  "\x1f\x8b\x08",
];

/** Each input is read or refused with a clause that fits into one SMTP reply. */
export const domainReports = target(
  "domain-reports",
  bytes(tokens, corpus),
  async (raw) => {
    const result = await readReport(raw, "report");
    if ("problem" in result) return assert.match(result.problem, /^[ -~]{1,200}$/);
    const { report } = result;
    assert.ok(Number.isFinite(report.beginMs) && Number.isFinite(report.endMs));
    assert.doesNotMatch(JSON.stringify(report), /\\u0000|\\ud[89a-f]/);
  },
  { limitMs: 1000 },
);
