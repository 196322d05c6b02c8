/** Judges a delivery report: which recipients of its email bounced, why, and whether to suppress them. Called by ../reports.ts. */

import { classify, expire, type Outcome } from "../../delivery/rules/outcome.ts";
import type { BouncedRecipient } from "../../mail/report/fields.ts";
import type { Reply } from "../../smtp/client/evidence.ts";

export type KnownRecipient = { position: number; address: string };

export type Returned<R extends KnownRecipient> = { recipient: R; outcome: Outcome; remoteMta: string };

/**
 * One entry per recipient that the report marks as failed. Recipients are matched by address. If the email has only one recipient, a report
 * about another address applies to it too, because the email may have been forwarded.
 */
export function judgeReturned<R extends KnownRecipient>(
  recipients: readonly R[],
  report: readonly BouncedRecipient[],
): Returned<R>[] {
  const found = new Map<number, Returned<R>>();
  const failures = report.filter(({ action }) => action === "failed");
  const add = (recipient: R | undefined, entry: BouncedRecipient) => {
    if (!recipient || found.has(recipient.position)) return;
    found.set(recipient.position, { recipient, outcome: outcomeOf(entry), remoteMta: entry.remoteMta });
  };
  for (const entry of failures) add(recipientOf(recipients, entry), entry);
  // Only without a match: a report written for humans contains other addresses too.
  if (found.size === 0 && recipients.length === 1 && failures[0]) add(recipients[0], failures[0]);
  return [...found.values()];
}

function recipientOf<R extends KnownRecipient>(recipients: readonly R[], entry: BouncedRecipient): R | undefined {
  for (const address of entry.addresses) {
    const same = recipients.find((recipient) => sameMailbox(recipient.address, address));
    if (same) return same;
  }
  return undefined;
}

/** Some servers change the case of addresses in reports, and by RFC 5321 §2.4 a sender must not rely on case. */
function sameMailbox(ours: string, theirs: string): boolean {
  return ours.toLowerCase() === theirs.trim().toLowerCase();
}

function outcomeOf(entry: BouncedRecipient): Outcome {
  const outcome = classify({ kind: "refused", phase: "rcpt", reply: replyOf(entry) }, { relay: false, sharedBy: 1 });
  // The reporting server has stopped retrying, so a temporary failure is final.
  return outcome.kind === "deferred" ? expire(outcome) : outcome;
}

/** The entry as an SMTP reply, so that the rules for outcomes apply. */
function replyOf({ diagnostic, status }: BouncedRecipient): Reply {
  const code = /(?:^|[^\d.])([45]\d\d)(?=[\s-]|$)/.exec(diagnostic)?.[1];
  const codeInText = /\b([45]\.\d{1,3}\.\d{1,3})\b/.exec(diagnostic)?.[1];
  // A status such as 5.0.0 is less precise than the text.
  const vague = status === "" || /^[45]\.0\.0$/.test(status);
  const enhanced = vague ? (codeInText ?? (status || null)) : status;
  const text = diagnostic || (status === "" ? "returned without a reason" : `returned with the status ${status}`);
  return {
    code: code ? Number(code) : enhanced?.startsWith("4") ? 450 : 550,
    enhanced,
    text,
    line: text,
  };
}
