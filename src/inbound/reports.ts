/** Handles bounces and complaints: finds the recipient by a token of ours and writes status, suppression and event. Reports without a
 * valid token change nothing; they are listed for the workspace, or only counted. Called by receive.ts. */
import { createHash } from "node:crypto";
import { readMessageId } from "../mail/message-id.ts";
import type { BounceReport } from "../mail/report/bounce.ts";
import type { ComplaintReport } from "../mail/report/complaint.ts";
import { type ReturnPathKey, readCopyToken, readReturnPath } from "../mail/return-path.ts";
import type { Log } from "../ops/log.ts";
import { fromWireId, makeUuid, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { attribute, type ReportKind, type UnattributedReason } from "./rules/attribution.ts";
import { complainedPayload } from "./rules/events.ts";
import { judgeReturned } from "./rules/returned.ts";
import { findByMessageId, findReturned, type ReturnedEmail } from "./store/emails.ts";
import { settleReturned, storeComplaint } from "./store/returns.ts";
import { storeUnattributed } from "./store/unattributed.ts";

export type ReportsDeps = {
  sql: Sql;
  log: Log;
  nowMs(): number;
  /** The keys of valid tokens. They change when the secret is replaced. */
  returnPathKeys(): readonly ReturnPathKey[];
  onEvent(): void;
  /** For metrics. `listed`: the workspace can read it. */
  onUnattributed(kind: ReportKind, listed: boolean): void;
};

/** A report about an attempt whose outcome is not stored yet. */
export class TooEarly extends Error {}

/** A copy that we sent. Without a position, all recipients of the email share its return path. */
type SentCopy = { emailId: string; position: number | undefined };

export function createReports(deps: ReportsDeps) {
  const { sql, log } = deps;

  /** The report changes nothing. */
  async function list(
    email: { workspaceId: string; id: string },
    about: { kind: ReportKind; reason: UnattributedReason; named: readonly string[] },
  ): Promise<void> {
    const { kind, reason } = about;
    const namedRecipient = storable(about.named[0] ?? "").slice(0, maxNamedCharacters);
    const id = makeUuid(deps.nowMs());
    const { workspaceId } = email;
    await storeUnattributed(sql, { id, workspaceId, emailId: email.id, kind, reason, namedRecipient });
    deps.onUnattributed(kind, true);
    log.info({ emailId: toWireId("email", email.id), kind, reason }, "listed a report that is about no recipient");
  }

  function ignore(kind: ReportKind): void {
    deps.onUnattributed(kind, false);
    log.info({ kind }, "ignored a report that is not about a stored email");
  }

  /** A complaint without a valid token. Its Message-ID names the workspace, and proves nothing. */
  async function complaintWithoutToken(report: ComplaintReport): Promise<void> {
    const messageId = report.originalMessageId;
    const ours = readMessageId(messageId);
    const id = ours && fromWireId("email", ours.emailId);
    const domain = /@([a-z0-9.-]{1,253})>$/i.exec(messageId)?.[1]?.toLowerCase();
    const email = domain && (await findByMessageId(sql, { id, domain, messageId }));
    if (!email) return ignore("complaint");
    const reason = report.returnPaths.length > 0 ? "invalid_token" : "no_token";
    await list(email, { kind: "complaint", reason, named: report.recipients });
  }

  /** The copy that a report contains, or that it was sent to the return path of. */
  function copyOf(report: ComplaintReport, addressed: SentCopy | undefined): SentCopy | undefined {
    const keys = deps.returnPathKeys();
    for (const path of report.returnPaths) {
      const copy = readCopyToken(path, keys) ?? readReturnPath(path, keys);
      const emailId = copy && fromWireId("email", copy.emailId);
      if (emailId) return { emailId, position: copy.position };
    }
    return addressed;
  }

  return {
    /** A report to the return path of an email. It moves the recipient of that path, whatever addresses it names. */
    async bounce(email: ReturnedEmail, position: number | undefined, report: BounceReport): Promise<void> {
      const failed = report.recipients.filter(({ action }) => action === "failed");
      const emailId = toWireId("email", email.id);
      if (failed.length === 0) return log.info({ emailId }, "received a delivery report without a failure");
      const attribution = attribute("bounce", position, email.recipients);
      if ("reason" in attribution) {
        const named = failed.flatMap(({ addresses }) => addresses);
        return await list(email, { kind: "bounce", reason: attribution.reason, named });
      }
      const { recipient } = attribution;
      const returned = judgeReturned(recipient.address, report.recipients);
      if (!returned) return log.info({ emailId }, "received a delivery report without a failure");
      const { outcome, remoteMta } = returned;
      const reply = storable(outcome.reply ?? outcome.reason);
      const remoteMx = storable(remoteMta);
      const bounced = await settleReturned(sql, {
        workspaceId: email.workspaceId,
        emailId: email.id,
        position: recipient.position,
        reply,
        remoteMx,
        suppress: outcome.suppress ? recipient.address : undefined,
        event: {
          id: makeUuid(deps.nowMs()),
          payload: {
            recipients: [recipient.address],
            bounceType: `BOUNCE_TYPE_${(outcome.bounceType ?? "undetermined").toUpperCase()}`,
            category: outcome.category.replaceAll("-", "_"),
            enhancedCode: outcome.enhancedCode ?? "",
            smtpReply: reply,
            remoteMx,
            attempts: recipient.attempts,
          },
        },
      });
      // The attempt that this report is about has not been recorded yet. The sender repeats the report.
      if (!bounced && recipient.open) throw new TooEarly();
      if (bounced) deps.onEvent();
      log.info({ emailId, bounced }, "received a delivery report");
    },

    /** Counts for the recipient whose token the report contains. `addressed`: the return path that the report was sent to. */
    async complaint(report: ComplaintReport, addressed?: SentCopy): Promise<void> {
      const copy = copyOf(report, addressed);
      if (!copy) return await complaintWithoutToken(report);
      const email = await findReturned(sql, copy.emailId);
      if (!email) return ignore("complaint");
      const attribution = attribute("complaint", copy.position, email.recipients);
      if ("reason" in attribution)
        return await list(email, { kind: "complaint", reason: attribution.reason, named: report.recipients });
      const { address, position } = attribution.recipient;
      const isSpam = report.feedbackType !== "not-spam";
      const event = {
        id: makeUuid(deps.nowMs()),
        payload: complainedPayload({
          recipients: [address],
          feedbackType: report.feedbackType,
          userAgent: storable(report.userAgent),
          arrivedAt: report.arrivedAt,
        }),
      };
      // One complaint for each copy, and one report that it is not spam: the receiver of a copy could write any number of different reports.
      const fingerprint = createHash("sha256").update(`complaint\0${email.id}\0${position}\0${isSpam}`).digest("hex");
      const stored = await storeComplaint(sql, {
        workspaceId: email.workspaceId,
        email,
        fingerprint,
        event,
        isSpam,
        // A report that a message is not spam becomes an event but suppresses no address.
        suppress: isSpam ? address : undefined,
      });
      if (stored) deps.onEvent();
      log.info({ emailId: toWireId("email", email.id), again: !stored }, "received a complaint");
    },
  };
}

const maxNamedCharacters = 320;

/** Removes what PostgreSQL cannot store: NUL and lone surrogates. */
function storable(text: string): string {
  return text.replaceAll("\0", " ").toWellFormed();
}
