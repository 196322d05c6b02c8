/** Checks a message that a program submitted over SMTP, for accept.ts: the same limits as for a call of the API. mail/submitted/prepare.ts has read
 * it. An empty body is allowed, because cron and monitors send such mail. */
import { type Address, parseAddress } from "../../mail/address.ts";
import type { Submitted } from "../../mail/submitted/prepare.ts";
import type { Violation } from "../../ops/problem.ts";
import { type CheckedEmail, checkMetadata, checkTimes, uniqueRecipients } from "./check.ts";
import type { RecipientKind, SendLimits } from "./request.ts";
import { checkTopic } from "./unsubscribe.ts";

export type SubmittedMessage = {
  message: Submitted;
  /** The recipients of the envelope. They get the message whatever the header says. */
  recipients: readonly string[];
};

export type CheckedSubmission = Pick<
  CheckedEmail,
  "from" | "to" | "cc" | "bcc" | "recipients" | "scheduledAt" | "unsubscribe"
>;

export type SubmissionCheck = { ok: true; email: CheckedSubmission } | { ok: false; violations: Violation[] };

export function checkSubmitted(
  { message, recipients }: SubmittedMessage,
  { limits, nowMs }: { limits: SendLimits; nowMs: number },
): SubmissionCheck {
  const violations: Violation[] = [];
  const wrong = (field: string, description: string) => violations.push({ field, description });
  const addresses = recipients.flatMap((text) => {
    const read = parseAddress(text);
    if (!read.ok) wrong("RCPT", read.reason);
    return read.ok ? [read.address] : [];
  });
  if (recipients.length > limits.recipients)
    wrong(
      "RCPT",
      `has ${recipients.length} recipients, at most ${limits.recipients} are allowed; send several messages`,
    );
  checkMetadata(message.metadata, wrong);
  const scheduledAt = checkTimes({ scheduledAt: message.scheduledAt, expiresAt: undefined }, nowMs, wrong);
  checkTopic(message.unsubscribe, { recipients: recipients.length, field: "X-Posthorn-Unsubscribe" }, wrong);
  const bytes = message.message.length;
  if (bytes > limits.messageBytes)
    wrong(
      "DATA",
      `the encoded message has ${bytes} octets, at most ${limits.messageBytes} are allowed; send links to large files`,
    );
  if (violations.length > 0) return { ok: false, violations };
  const { from, to, cc, unsubscribe } = message;
  const lists = byKind(addresses, message);
  const unique = uniqueRecipients(lists);
  return { ok: true, email: { from, to, cc, bcc: lists.bcc, recipients: unique, scheduledAt, unsubscribe } };
}

/** Recipients that the header does not name are blind copies. */
function byKind(recipients: readonly Address[], { to, cc }: Submitted): Record<RecipientKind, Address[]> {
  const named = (list: readonly Address[]) => new Set(list.map(({ address }) => address.toLowerCase()));
  const kinds = { to: named(to), cc: named(cc) };
  const kindOf = ({ address }: Address): RecipientKind => {
    if (kinds.to.has(address.toLowerCase())) return "to";
    return kinds.cc.has(address.toLowerCase()) ? "cc" : "bcc";
  };
  const lists: Record<RecipientKind, Address[]> = { to: [], cc: [], bcc: [] };
  for (const recipient of recipients) lists[kindOf(recipient)].push(recipient);
  return lists;
}
