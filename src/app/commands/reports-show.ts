/** Reports about a domain as posthorn reports prints them. reports.ts calls the API. */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Cell, color, fittedTable, plain, table } from "../output.ts";
import { type Column, constantText, timeText } from "./listing.ts";

type Counts = {
  messages: number;
  aligned: number;
  dkimAligned: number;
  spfAligned: number;
  delivered: number;
  quarantined: number;
  rejected: number;
};

export type DmarcSummary = JsonObject & {
  total: Counts;
  days: { start: string; counts: Counts }[];
  progress: { policy: string; policyName: string; message: string; recordName: string; recordValue: string };
  reporters: number;
  sources: number;
  lastReportAt?: string;
  reportAddress: string;
};

export type DmarcSource = {
  ip: string;
  host: string;
  own: boolean;
  counts: Counts;
  dkimDomains: string[];
  spfDomains: string[];
  firstSeenAt: string;
  lastSeenAt: string;
};

export type Report = {
  kind: string;
  organization: string;
  authenticatedDomain: string;
  via: string;
  beginAt: string;
  receivedAt: string;
  total: number;
  failed: number;
};

type TlsCounts = { succeeded: number; failed: number };

export type TlsSummary = JsonObject & {
  total: TlsCounts;
  unauthenticated: TlsCounts;
  days: { start: string; counts: TlsCounts; unauthenticated: TlsCounts }[];
  failures: {
    resultType: string;
    explanation: string;
    organization: string;
    sendingIp: string;
    receivingMx: string;
    sessions: number;
    authenticated: boolean;
    lastSeenAt: string;
  }[];
  lastReportAt?: string;
  recordName: string;
  recordValue: string;
};

export function showDmarc(domain: string, summary: DmarcSummary): string {
  const { total, days, progress, lastReportAt } = summary;
  const { policy, policyName, message, recordName, recordValue } = progress;
  const head = ["DAY", "MESSAGES", "ALIGNED", "%", "DKIM", "SPF", "DELIVERED", "QUARANTINED", "REJECTED"];
  const rows = days
    .filter(({ counts }) => counts.messages > 0)
    .map(({ start, counts }) => [dayText(start), ...cellsOf(counts)]);
  const arrived =
    lastReportAt === undefined
      ? [noReports(summary.reportAddress)]
      : [
          `${plain(domain)}: ${count(summary.reporters, "reporter")}, ${count(summary.sources, "source")}, last report ${timeText(lastReportAt)}. Days without reports are left out.`,
          "",
          fittedTable([head, ...rows, ["total", ...cellsOf(total)]], []).trimEnd(),
        ];
  return [
    ...arrived,
    "",
    plain(policy === "" ? "Policy: none was found in DNS." : `Policy: p=${policy} at ${policyName}`),
    `Next step: ${plain(message)}`,
    ...(recordName === "" ? [] : [recordText(recordName, recordValue)]),
    "",
  ].join("\n");
}

function noReports(address: string): string {
  return `No reports have arrived yet. Receivers send them about once a day to ${plain(address)}, when the domain's DMARC record names this address.`;
}

function cellsOf(counts: Counts): string[] {
  const { messages, aligned, dkimAligned, spfAligned, delivered, quarantined, rejected } = counts;
  const numbers = [dkimAligned, spfAligned, delivered, quarantined, rejected];
  return [String(messages), String(aligned), percent(aligned, messages), ...numbers.map(String)];
}

/** Values are copied from this line, so nothing is cut. */
function recordText(name: string, value: string): string {
  return table([["TXT", name, value]]).trimEnd();
}

export const sourceColumns: readonly Column<DmarcSource>[] = [
  { head: "ADDRESS", of: ({ ip }) => ip || "(other)" },
  { head: "HOST", of: ({ host, own }) => (own ? { text: "this service", tone: "green" } : host), cut: true },
  { head: "MESSAGES", of: ({ counts }) => String(counts.messages) },
  { head: "ALIGNED %", of: ({ counts }) => alignedCell(counts) },
  { head: "QUARANTINED", of: ({ counts }) => String(counts.quarantined) },
  { head: "REJECTED", of: ({ counts }) => String(counts.rejected) },
  { head: "FIRST", of: ({ firstSeenAt }) => dayText(firstSeenAt) },
  { head: "LAST", of: ({ lastSeenAt }) => dayText(lastSeenAt) },
  { head: "DKIM", of: ({ dkimDomains }) => dkimDomains.join(","), cut: true },
  { head: "SPF", of: ({ spfDomains }) => spfDomains.join(","), cut: true },
];

function alignedCell({ aligned, messages }: Counts): Cell {
  const text = percent(aligned, messages);
  return aligned < messages ? { text, tone: "red" } : text;
}

export const reportColumns: readonly Column<Report>[] = [
  { head: "RECEIVED", of: ({ receivedAt }) => timeText(receivedAt) },
  { head: "KIND", of: ({ kind }) => constantText(kind, "REPORT_KIND_") },
  { head: "PERIOD", of: ({ beginAt }) => dayText(beginAt) },
  { head: "TOTAL", of: ({ total }) => String(total) },
  { head: "FAILED", of: ({ failed }) => (failed > 0 ? { text: String(failed), tone: "red" } : "0") },
  {
    head: "AUTHENTICATED",
    of: ({ authenticatedDomain, via }) =>
      authenticatedDomain === "" ? { text: `no (${via})`, tone: "yellow" } : authenticatedDomain,
  },
  { head: "ORGANIZATION", of: ({ organization }) => organization, cut: true },
];

export function showTls(domain: string, summary: TlsSummary): string {
  const { total, unauthenticated, days, failures, lastReportAt, recordName, recordValue } = summary;
  if (lastReportAt === undefined)
    return [
      "No TLS reports have arrived yet. Senders report about once a day whether they reached the domain's mail servers with TLS, when this record is published. It is optional, and useful only for a domain that receives mail:",
      recordText(recordName, recordValue),
      "",
    ].join("\n");
  const cells = (one: TlsCounts) => [String(one.succeeded), String(one.failed)];
  const rows = days
    .filter((day) => sum(day.counts) + sum(day.unauthenticated) > 0)
    .map((day) => [dayText(day.start), ...cells(day.counts), ...cells(day.unauthenticated)]);
  const head = ["DAY", "SUCCEEDED", "FAILED", "UNAUTHENTICATED SUCCEEDED", "UNAUTHENTICATED FAILED"];
  const isForgeable = sum(unauthenticated) > 0 || failures.some(({ authenticated }) => !authenticated);
  return [
    `${plain(domain)}: sessions of senders with its mail servers, last report ${timeText(lastReportAt)}. Days without reports are left out.`,
    ...(isForgeable ? ["Anyone can write an unauthenticated report."] : []),
    "",
    fittedTable([head, ...rows, ["total", ...cells(total), ...cells(unauthenticated)]], []).trimEnd(),
    ...failures.flatMap((failure) => ["", failureText(failure)]),
    "",
  ].join("\n");
}

function failureText(failure: TlsSummary["failures"][number]): string {
  const { resultType, explanation, organization, sendingIp, receivingMx, sessions, authenticated, lastSeenAt } =
    failure;
  const from = sendingIp === "" ? "" : ` from ${sendingIp}`;
  const to = receivingMx === "" ? "" : ` to ${receivingMx}`;
  const who = `reported by ${organization}${authenticated ? "" : " (not authenticated)"}, last on ${dayText(lastSeenAt)}`;
  return [
    `${color("red", plain(resultType))}: ${plain(`${count(sessions, "session")}${from}${to}, ${who}`)}`,
    `  ${plain(explanation)}`,
  ].join("\n");
}

function sum({ succeeded, failed }: TlsCounts): number {
  return succeeded + failed;
}

/** Never rounded to 100: 99.99 looks like all. */
function percent(part: number, whole: number): string {
  return whole === 0 ? "" : (Math.floor((part * 1000) / whole) / 10).toFixed(1);
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function dayText(time: string | undefined): string {
  return time?.slice(0, 10) ?? "";
}
