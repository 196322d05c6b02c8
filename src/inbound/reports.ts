/** Bounces and complaints that came home: attributed to the recipients of the email that they prove to be about. */
import { createHash } from "node:crypto";
import type { BounceReport } from "../mail/report/bounce.ts";
import type { ComplaintReport } from "../mail/report/complaint.ts";
import { type ReturnPathKey, readReturnPath } from "../mail/return-path.ts";
import type { Log } from "../ops/log.ts";
import { complainedPayload } from "../rules/inbound-events.ts";
import { judgeReturned } from "../rules/returned.ts";
import type { Sql } from "../store/db.ts";
import { fromWireId, makeUuid, toWireId } from "../store/ids.ts";
import { findReturned, type ReturnedEmail } from "../store/inbound-emails.ts";
import { settleReturned, storeComplaint } from "../store/inbound-returns.ts";

export type ReportsDeps = { sql: Sql; log: Log; nowMs(): number; returnPathKey: ReturnPathKey; onEvent(): void };

export function createReports(deps: ReportsDeps) {
  const { sql, log } = deps;
  return {
    async bounce(email: ReturnedEmail, report: BounceReport): Promise<void> {
      const returned = judgeReturned(email.recipients, report.recipients);
      const recipients = returned.map(({ recipient, outcome, remoteMta }) => ({
        position: recipient.position,
        reply: storable(outcome.reply ?? outcome.reason),
        remoteMx: storable(remoteMta),
        suppress: outcome.suppress ? recipient.address.toLowerCase() : undefined,
        event: {
          id: makeUuid(deps.nowMs()),
          payload: {
            recipients: [recipient.address],
            bounceType: `BOUNCE_TYPE_${(outcome.bounceType ?? "undetermined").toUpperCase()}`,
            category: outcome.category.replaceAll("-", "_"),
            enhancedCode: outcome.enhancedCode ?? "",
            smtpReply: storable(outcome.reply ?? outcome.reason),
            remoteMx: storable(remoteMta),
            attempts: recipient.attempts,
          },
        },
      }));
      const moved =
        recipients.length === 0
          ? []
          : await settleReturned(sql, { workspaceId: email.workspaceId, emailId: email.id, recipients });
      if (moved.length > 0) deps.onEvent();
      log.info(
        { emailId: toWireId("email", email.id), named: report.recipients.length, bounced: moved.length },
        "a delivery report came home",
      );
    },

    /** Counted only where a return path of ours stands in the report: everything else in it can be made up. */
    async complaint(report: ComplaintReport, about: { raw: Buffer; emailId?: string }): Promise<void> {
      const ids = report.returnPaths.flatMap((path) => readReturnPath(path, deps.returnPathKey) ?? []);
      const emailId = ids[0] ? fromWireId("email", ids[0]) : about.emailId;
      const email = emailId ? await findReturned(sql, emailId) : undefined;
      if (!email) {
        log.info({ token: emailId !== undefined }, "a complaint about no email of ours was ignored");
        return;
      }
      const addresses = complainers(email, report);
      const event = {
        id: makeUuid(deps.nowMs()),
        payload: complainedPayload({
          recipients: addresses,
          feedbackType: report.feedbackType,
          userAgent: storable(report.userAgent),
          arrivedAt: report.arrivedAt,
        }),
      };
      const fingerprint = createHash("sha256").update(`complaint\0${email.id}\0`).update(about.raw).digest("hex");
      // A report that a message is not spam, or about a virus, is told and costs nobody its mail.
      const suppress = report.feedbackType === "not-spam" ? [] : addresses;
      const stored = await storeComplaint(sql, {
        ...{ workspaceId: email.workspaceId, email, fingerprint, event },
        addresses: suppress,
      });
      if (stored) deps.onEvent();
      log.info({ emailId: toWireId("email", email.id), again: !stored }, "a complaint came home");
    },
  };
}

/** Whom the report names among the recipients, by its own fields, by the message's header, or because there was only one. */
function complainers(email: ReturnedEmail, report: ComplaintReport): string[] {
  const all = email.recipients.map(({ address }) => address);
  const among = (named: readonly string[]) => {
    const lower = new Set(named.map((address) => address.toLowerCase()));
    return all.filter((address) => lower.has(address.toLowerCase()));
  };
  const named = among(report.recipients);
  if (named.length > 0) return named;
  if (all.length === 1) return all;
  const shown = among(report.originalTo);
  return shown.length === 1 ? shown : [];
}

function storable(text: string): string {
  return text.replaceAll("\0", " ").toWellFormed();
}
