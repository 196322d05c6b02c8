/** Whether a report may be counted for a domain: it is about the domain, and its period is plausible. Called by receive.ts and tls-page.ts. */
import type { ReceivedReport } from "../../mail/reports/read.ts";
import { isAtOrBelow } from "../../mail/reports/values.ts";

const dayMs = 86_400_000;
/** RFC 9990 §3.1.2 and RFC 8460 §4.1: a day by default, or a part of one. Some reporters send weekly reports. */
const longestDays = 8;
/** Clocks and time zones of reporters differ. */
const futureDays = 1;
/** Mail waits for at most five days in a queue. A later report would count where a page no longer looks. */
const oldestDays = 14;

/** A clause that says why the report is refused, or undefined. */
export function problemOf(report: ReceivedReport, domain: string, nowMs: number): string | undefined {
  const domains = report.kind === "dmarc" ? [report.domain] : report.domains;
  if (!domains.every((name) => isAtOrBelow(name, domain))) return `the report is not about ${domain}`;
  const { beginMs, endMs } = report;
  // A reporter may name the second of a single message as both.
  if (beginMs > endMs) return "the period of the report ends before it begins";
  if (endMs - beginMs > longestDays * dayMs) return `the period of the report is longer than ${longestDays} days`;
  if (endMs > nowMs + futureDays * dayMs) return "the period of the report is in the future";
  if (beginMs < nowMs - oldestDays * dayMs) return `the period of the report began more than ${oldestDays} days ago`;
  return undefined;
}
