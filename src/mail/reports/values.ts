/** Reads single values of reports. The writer of a report is a stranger, so every value has a type and a length. Called by dmarc-aggregate.ts
 * and tls-report.ts. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { ReportProblem } from "./refusal.ts";

const maxName = 253;
/** A count above this is a mistake or a lie, and so is the sum of a report. Sums of all reports of a domain are then exact numbers. */
const maxCount = 1_000_000_000;

/** A text for people, in one line. */
export function shortText(text: string, limit: number): string {
  const line = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim();
  return Array.from(line).slice(0, limit).join("");
}

/** A lower-case domain name; undefined if the text is none. */
export function domainName(text: string): string | undefined {
  const name = text.trim().replace(/\.$/, "").toLowerCase();
  return name.length <= maxName && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name) ? name : undefined;
}

/** The canonical form of an address; undefined if the text is none. */
export function ipAddress(text: string): string | undefined {
  const plain = text.trim();
  if (isIP(plain) === 0) return undefined;
  return ipaddr.process(plain.replace(/%.*$/, "")).toString();
}

/** RFC 9990 and RFC 8460 count with non-negative integers. */
export function countOf(value: string | number | undefined, what: string): number {
  const text = String(value ?? "").trim();
  if (!/^\d{1,15}$/.test(text)) throw new ReportProblem("invalid", `the ${what} is not a non-negative integer`);
  return Math.min(Number(text), maxCount);
}

/** `what`: the plural of what is counted. */
export function requireSum(counts: readonly number[], what: string): void {
  if (counts.reduce((sum, count) => sum + count, 0) > maxCount)
    throw new ReportProblem("invalid", `the report counts more than ${maxCount} ${what}`);
}

export function isAtOrBelow(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}
