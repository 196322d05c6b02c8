/** Handles bounces and complaints: finds their recipients and writes status, suppression and event. Called by receive.ts. */
import { createHash } from "node:crypto";
import type { BounceReport } from "../mail/report/bounce.ts";
import type { ComplaintReport } from "../mail/report/complaint.ts";
import { type ReturnPathKey, readReturnPath } from "../mail/return-path.ts";
import type { Log } from "../ops/log.ts";
import { fromWireId, makeUuid, toWireId } from "../postgres/ids.ts";
import type { Sql } from "../postgres/pool.ts";
import { complainedPayload } from "./rules/events.ts";
import { judgeReturned } from "./rules/returned.ts";
import { findReturned, type ReturnedEmail } from "./store/emails.ts";
import { settleReturned, storeComplaint } from "./store/returns.ts";

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
      const bounced =
        recipients.length === 0
          ? []
          : await settleReturned(sql, { workspaceId: email.workspaceId, emailId: email.id, recipients });
      if (bounced.length > 0) deps.onEvent();
      log.info(
        { emailId: toWireId("email", email.id), named: report.recipients.length, bounced: bounced.length },
        "received a delivery report",
      );
    },

    /** Only a report that contains one of our return paths, or was sent to one, counts: the rest of a report can be forged. */
    async complaint(report: ComplaintReport, about: { raw: Buffer; emailId?: string }): Promise<void> {
      const ids = report.returnPaths.flatMap((path) => readReturnPath(path, deps.returnPathKey) ?? []);
      const emailId = ids[0] ? fromWireId("email", ids[0]) : about.emailId;
      const email = emailId ? await findReturned(sql, emailId) : undefined;
      if (!email) {
        log.info({ token: emailId !== undefined }, "ignored a complaint that is not about a stored email");
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
      // A report that a message is not spam becomes an event but suppresses no address.
      const suppress = report.feedbackType === "not-spam" ? [] : addresses;
      const stored = await storeComplaint(sql, {
        workspaceId: email.workspaceId,
        email,
        fingerprint,
        event,
        addresses: suppress,
      });
      if (stored) deps.onEvent();
      log.info({ emailId: toWireId("email", email.id), again: !stored }, "received a complaint");
    },
  };
}

/** The recipients that the report names in its fields, else the only recipient, else the one that the message's To field names. */
function complainers(email: ReturnedEmail, report: ComplaintReport): string[] {
  const all = email.recipients.map(({ address }) => address);
  const among = (named: readonly string[]) => {
    const lower = new Set(named.map((address) => address.toLowerCase()));
    return all.filter((address) => lower.has(address.toLowerCase()));
  };
  const named = among(report.recipients);
  if (named.length > 0) return named;
  if (all.length === 1) return all;
  const inHeader = among(report.originalTo);
  return inHeader.length === 1 ? inHeader : [];
}

/** Removes what PostgreSQL cannot store: NUL and lone surrogates. */
function storable(text: string): string {
  return text.replaceAll("\0", " ").toWellFormed();
}
