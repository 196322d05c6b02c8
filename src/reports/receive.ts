/** Takes reports that arrive by mail at `<token>@reports.<zone>`. A report counts only if DMARC passes for its sender, and it is acknowledged
 * only after it is stored. inbound/receive.ts calls it with the SMTP transaction, and nothing of the message is kept. */
import type { ReportResult } from "../mail/reports/read.ts";
import type { Log } from "../ops/log.ts";
import type { Sql } from "../postgres/pool.ts";
import { problemOf } from "./rules/acceptable.ts";
import type { ReportedDomain } from "./store/domains.ts";
import { storeReport } from "./store/fold.ts";

export type MailedReport = {
  /** The registrations that its recipients name. */
  domains: readonly ReportedDomain[];
  /** The verdict on the sender, and the domain in From that it is about. */
  verify(): Promise<{ dmarc: string; fromDomain?: string }>;
  /** The report in the message, or the SMTP reply that refuses or defers it. */
  read(): Promise<ReportResult | { reply: string }>;
};

/** What became of a report. A label of the metric, next to the kind and the way that it arrived. */
export type ReportOutcome =
  | "stored"
  | "seen"
  | "deferred"
  | "unauthenticated"
  | "unreadable"
  | "too_large"
  | "invalid"
  | "full"
  | "gone";
export type NoteReport = (about: {
  via: "mail" | "https";
  kind: "dmarc" | "tls" | "unknown";
  outcome: ReportOutcome;
}) => void;

export type ReceiveReportsDeps = {
  sql: Sql;
  log: Log;
  nowMs(): number;
  isOwnAddress(ip: string): boolean;
  onEvent(): void;
  note: NoteReport;
};

export type ReceiveReport = (mail: MailedReport) => Promise<string>;

const storedReply = "250 2.0.0 report stored";

export function createReceiveReports(deps: ReceiveReportsDeps): ReceiveReport {
  const { sql, log } = deps;

  return async (mail) => {
    const note = (outcome: ReportOutcome, kind: "dmarc" | "tls" | "unknown" = "unknown") =>
      deps.note({ via: "mail", kind, outcome });
    // Before anything is unpacked, so that only mail of a sender that can be named costs more than its octets.
    const { dmarc, fromDomain: reporter = "" } = await mail.verify();
    if (dmarc === "temperror") {
      note("deferred");
      return "451 4.7.0 the sender of the report cannot be authenticated now, try again later";
    }
    if (dmarc !== "pass" || reporter === "") {
      note("unauthenticated");
      return "550 5.7.1 reports are accepted only if DMARC passes for the domain in From";
    }
    const read = await mail.read();
    if ("reply" in read) {
      note(read.reply.startsWith("4") ? "deferred" : "too_large");
      return read.reply;
    }
    if ("problem" in read) {
      note(read.reason);
      log.info({ reporter, problem: read.problem }, "refused a report");
      return `554 5.6.0 ${read.problem}`;
    }
    const { report } = read;
    const replies: string[] = [];
    // One record may name the addresses of several registrations, and some reporters send one message to all of them.
    for (const domain of mail.domains) replies.push(await take(domain));
    // A reporter repeats the whole message. What was stored for another address is then known.
    const first = (digit: string) => replies.find((reply) => reply.startsWith(digit));
    return first("4") ?? first("2") ?? replies[0]!;

    async function take(domain: ReportedDomain): Promise<string> {
      const problem = problemOf(report, domain.domain, deps.nowMs());
      if (problem) {
        note("invalid", report.kind);
        log.info({ reporter, domain: domain.domain, problem }, "refused a report");
        return `554 5.6.0 ${problem}`;
      }
      const { isOwnAddress } = deps;
      const result = await storeReport(sql, {
        domain,
        via: "mail",
        reporter,
        report,
        nowMs: deps.nowMs(),
        isOwnAddress,
      });
      note(result.kind, report.kind);
      if (result.kind === "gone") return "550 5.1.1 no such mailbox here";
      if (result.kind === "full") return "452 4.2.2 too many reports for this address today, try again later";
      if (result.kind === "stored" && result.events > 0) deps.onEvent();
      const about = { reporter, domain: domain.domain, kind: report.kind, reportId: report.reportId };
      log.info({ ...about, events: result.kind === "stored" ? result.events : 0 }, storedText[result.kind]);
      return storedReply;
    }
  };
}

const storedText = { stored: "stored a report", seen: "ignored a report that was stored before" };
