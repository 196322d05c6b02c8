/** What a delivery report means for the recipients of the email it is about: who bounced, why, and whether to write to them again. */
import type { BouncedRecipient } from "../mail/report/bounce.ts";
import { classify, expire, type Outcome } from "./outcome.ts";
import type { Reply } from "./outcome-evidence.ts";

export type KnownRecipient = { position: number; address: string };

export type Returned<R extends KnownRecipient> = { recipient: R; outcome: Outcome; remoteMta: string };

/**
 * Only those that the report calls failed, each once. A recipient is found by address; an email to one recipient needs no
 * address, for it may have been forwarded to where we never wrote. Nobody else is guessed.
 */
export function judgeReturned<R extends KnownRecipient>(
  recipients: readonly R[],
  report: readonly BouncedRecipient[],
): Returned<R>[] {
  const found = new Map<number, Returned<R>>();
  const failures = report.filter(({ action }) => action === "failed");
  const settle = (recipient: R | undefined, entry: BouncedRecipient) => {
    if (!recipient || found.has(recipient.position)) return;
    found.set(recipient.position, { recipient, outcome: outcomeOf(entry), remoteMta: entry.remoteMta });
  };
  for (const entry of failures) settle(ownerOf(recipients, entry), entry);
  // Only where nobody is named: in a report for people, other addresses than the one that failed stand around.
  if (found.size === 0 && recipients.length === 1 && failures[0]) settle(recipients[0], failures[0]);
  return [...found.values()];
}

function ownerOf<R extends KnownRecipient>(recipients: readonly R[], entry: BouncedRecipient): R | undefined {
  for (const address of entry.addresses) {
    const same = recipients.find((recipient) => sameMailbox(recipient.address, address));
    if (same) return same;
  }
  return undefined;
}

/** Servers change the case of what they report; RFC 5321 §2.4 allows nobody to rely on it. */
function sameMailbox(ours: string, theirs: string): boolean {
  return ours.toLowerCase() === theirs.trim().toLowerCase();
}

function outcomeOf(entry: BouncedRecipient): Outcome {
  const outcome = classify({ kind: "refused", phase: "rcpt", reply: replyOf(entry) }, { relay: false, sharedBy: 1 });
  // The other server has stopped trying: what would be tried again here is over there.
  return outcome.kind === "deferred" ? expire(outcome) : outcome;
}

/** The refusal in the shape of an SMTP reply, which the tables of outcomes are made for. */
function replyOf({ diagnostic, status }: BouncedRecipient): Reply {
  const code = /(?:^|[^\d.])([45]\d\d)(?=[\s-]|$)/.exec(diagnostic)?.[1];
  const spoken = /\b([45]\.\d{1,3}\.\d{1,3})\b/.exec(diagnostic)?.[1];
  // A status such as 5.0.0 says nothing that the words do not say better.
  const vague = status === "" || /^[45]\.0\.0$/.test(status);
  const enhanced = vague ? (spoken ?? (status || null)) : status;
  const text = diagnostic || (status === "" ? "returned without a reason" : `returned with the status ${status}`);
  return {
    code: code ? Number(code) : enhanced?.startsWith("4") ? 450 : 550,
    enhanced,
    text,
    line: text,
  };
}
