/** Stores reports about a domain with the store of reports itself, for tests of the dashboard and of the command line. */
import assert from "node:assert/strict";
import type { DmarcRow } from "../../src/mail/reports/dmarc-aggregate.ts";
import type { ReceivedReport } from "../../src/mail/reports/read.ts";
import type { TlsReport } from "../../src/mail/reports/tls-report.ts";
import type { Sql } from "../../src/postgres/pool.ts";
import type { ReportedDomain } from "../../src/reports/store/domains.ts";
import { storeReport } from "../../src/reports/store/fold.ts";

/** The address of the service itself: set it in POSTHORN_PUBLIC_IPS. */
export const ownAddress = "203.0.113.10";
/** An address that fails DMARC. */
export const failingAddress = "198.51.100.7";
/** An address of which a part passes. */
export const listAddress = "198.51.100.9";
/** More addresses that fail, each with one message, so that the list has a second page. */
export const fewAddresses = 25;
/** Days with reports, up to and including yesterday. */
export const reportedDays = 20;
/** The name that the writer of an unauthenticated report chose. */
export const hostileName = '<img src=x onerror="globalThis.hacked=1">';

const dayMs = 86_400_000;

/** Returns the day before which the reports are, such as 2026-11-02. */
export async function storeReports(sql: Sql, name: string): Promise<string> {
  const [domain] = await sql<ReportedDomain[]>`
    select workspace_id as "workspaceId", id, domain from domains where domain = ${name}`;
  const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
  for (let day = reportedDays; day > 0; day -= 1) {
    const beginMs = todayMs - day * dayMs;
    const period = { beginMs, endMs: beginMs + dayMs - 1_000 };
    const store = async (reporter: string, report: ReceivedReport) => {
      const { kind } = await storeReport(sql, {
        domain: domain!,
        via: reporter === "" ? "https" : "mail",
        reporter,
        report,
        nowMs: Date.now(),
        isOwnAddress: (ip) => ip === ownAddress,
      });
      assert.equal(kind, "stored");
    };
    const rows = dmarcRows(name);
    await store("google.com", {
      kind: "dmarc",
      organization: "google.com",
      reportId: `g-${day}`,
      domain: name,
      rows,
      ...period,
    });
    if (day === 3)
      await store("yahoo.test", {
        kind: "dmarc",
        organization: "Yahoo",
        reportId: "few",
        domain: name,
        rows: fewRows(name),
        ...period,
      });
    if (day === 9)
      await store(
        "",
        tlsReport({ ...period, organization: hostileName, failed: 40, resultType: "starttls-not-supported" }),
      );
    await store(
      "google.com",
      tlsReport({ ...period, organization: "Google Inc.", failed: day === 4 ? 12 : 0, receivingMx: `mx.${name}` }),
    );
  }
  return new Date(todayMs).toISOString().slice(0, 10);
}

/** The day that many days before another. */
export function daysBefore(day: string, count: number): string {
  return new Date(Date.parse(day) - count * dayMs).toISOString().slice(0, 10);
}

function dmarcRows(domain: string): DmarcRow[] {
  return [
    row({ ip: ownAddress, headerFrom: domain, dkimDomains: [domain], spfDomains: [`bounce.${domain}`] }, 1000, 1000),
    row({ ip: failingAddress, headerFrom: domain, dkimDomains: ["news.example"], spfDomains: ["news.example"] }, 20, 0),
    row({ ip: listAddress, headerFrom: domain, dkimDomains: [domain], overrides: ["mailing_list"] }, 10, 4),
  ];
}

/** The empty address is that of the addresses past a limit. */
function fewRows(domain: string): DmarcRow[] {
  return Array.from({ length: fewAddresses + 1 }, (_, n) =>
    row({ ip: n === 0 ? "" : `192.0.2.${n}`, headerFrom: domain }, 1, 0),
  );
}

function row(part: Partial<DmarcRow>, messages: number, aligned: number): DmarcRow {
  const passed = { dkimAligned: aligned, spfAligned: aligned, delivered: aligned };
  const counts = { messages, aligned, ...passed, quarantined: messages - aligned, rejected: 0 };
  return { ip: "", headerFrom: "", counts, dkimDomains: [], spfDomains: [], overrides: [], ...part };
}

function tlsReport(part: {
  beginMs: number;
  endMs: number;
  organization: string;
  failed: number;
  resultType?: string;
  receivingMx?: string;
}): TlsReport {
  const { beginMs, endMs, organization, failed, resultType = "certificate-expired", receivingMx = "" } = part;
  const isNamed = receivingMx !== "";
  const failure = {
    resultType,
    policyType: isNamed ? "sts" : "no-policy-found",
    sendingIp: isNamed ? "198.51.100.20" : "",
    receivingMx,
    sessions: failed,
  };
  const failures = failed > 0 ? [failure] : [];
  return {
    kind: "tls",
    organization,
    reportId: `tls-${beginMs}`,
    beginMs,
    endMs,
    domains: [],
    succeeded: 150,
    failed,
    failures,
  };
}
