/** Reads a TLS report (RFC 8460 §4). Called by read.ts. */
import { maxOrganization, maxReportId } from "./dmarc-aggregate.ts";
import { ReportProblem } from "./refusal.ts";
import { countOf, domainName, ipAddress, requireSum, shortText } from "./values.ts";

export type TlsFailureRow = {
  resultType: string;
  policyType: string;
  sendingIp: string;
  receivingMx: string;
  sessions: number;
};

export type TlsReport = {
  kind: "tls";
  organization: string;
  reportId: string;
  beginMs: number;
  endMs: number;
  /** The domains of its policies. */
  domains: string[];
  succeeded: number;
  failed: number;
  failures: TlsFailureRow[];
};

/** TLS reports have a few hundred entries at most, and a parsed value takes several times the memory of its text. */
export const maxTlsBytes = 4 * 1024 * 1024;
const maxPolicies = 1000;
const maxFailures = 1000;

type Json = Record<string, unknown>;

export function readTlsReport(bytes: Buffer): TlsReport {
  if (bytes.length > maxTlsBytes)
    throw new ReportProblem("too_large", `the TLS report has more than ${maxTlsBytes} octets`);
  const report = objectOf(parse(bytes), "the report");
  const range = objectOf(report["date-range"], "date-range");
  const policies = listOf(report.policies, "policies");
  if (policies.length === 0) throw new ReportProblem("invalid", "the report has no policies");
  if (policies.length > maxPolicies)
    throw new ReportProblem("invalid", `the report has more than ${maxPolicies} policies`);
  const reportId = shortText(textOf(report["report-id"]), maxReportId);
  if (reportId === "") throw new ReportProblem("invalid", "the report has no report-id");
  const result: TlsReport = {
    kind: "tls",
    organization: shortText(textOf(report["organization-name"]), maxOrganization),
    reportId,
    beginMs: timeOf(range["start-datetime"]),
    endMs: timeOf(range["end-datetime"]),
    domains: [],
    succeeded: 0,
    failed: 0,
    failures: [],
  };
  for (const one of policies) addPolicy(result, objectOf(one, "an entry of policies"));
  requireSum([result.succeeded, result.failed], "sessions");
  requireSum(
    result.failures.map(({ sessions }) => sessions),
    "sessions",
  );
  return result;
}

function addPolicy(report: TlsReport, entry: Json): void {
  const policy = objectOf(entry.policy, "policy");
  const domain = domainName(textOf(policy["policy-domain"]));
  if (domain === undefined) throw new ReportProblem("invalid", "a policy-domain of the report is not a domain name");
  if (!report.domains.includes(domain)) report.domains.push(domain);
  const type = textOf(policy["policy-type"]);
  const policyType = ["tlsa", "sts", "no-policy-found"].includes(type) ? type : "";
  const summary = objectOf(entry.summary, "summary");
  report.succeeded += countOf(numberOf(summary["total-successful-session-count"]), "total-successful-session-count");
  report.failed += countOf(numberOf(summary["total-failure-session-count"]), "total-failure-session-count");
  const details = entry["failure-details"] === undefined ? [] : listOf(entry["failure-details"], "failure-details");
  for (const one of details.slice(0, maxFailures - report.failures.length)) {
    const failure = objectOf(one, "an entry of failure-details");
    report.failures.push({
      resultType: shortText(textOf(failure["result-type"]), 64),
      policyType,
      sendingIp: ipAddress(textOf(failure["sending-mta-ip"])) ?? "",
      receivingMx: domainName(textOf(failure["receiving-mx-hostname"])) ?? "",
      sessions: countOf(numberOf(failure["failed-session-count"]), "failed-session-count"),
    });
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // Also a RangeError for a text that is nested too deeply.
    throw new ReportProblem("unreadable", "the report is not valid JSON");
  }
}

function objectOf(value: unknown, what: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new ReportProblem("invalid", `${what} is not a JSON object`);
}

function listOf(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw new ReportProblem("invalid", `${what} is not a JSON array`);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): string | number | undefined {
  return typeof value === "number" || typeof value === "string" ? value : undefined;
}

/** RFC 8460 §4.4: times are in RFC 3339. */
function timeOf(value: unknown): number {
  const text = textOf(value);
  const ms = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isNaN(ms)) throw new ReportProblem("invalid", "the date-range of the report is not valid");
  return ms;
}
