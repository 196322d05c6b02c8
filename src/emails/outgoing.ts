/** Builds the input of compose from a stored email. Called for a delivery attempt and for GetEmailContent. */
import type { OutgoingEmail } from "../mail/compose.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Envelope } from "./store/emails.ts";

export type StoredEmail = { id: string; messageId: string; subject: string; envelope: Envelope; date: Date };

/** Leaves bcc out: it stays in the envelope and never reaches the composed message. */
export function toOutgoing(email: StoredEmail, parts: readonly string[]): OutgoingEmail {
  const { from, to, cc, replyTo, headers, inReplyTo, references, attachments, submitted } = email.envelope;
  const { id, messageId, date, subject } = email;
  if (submitted) {
    const content = { message: parts[0]!, later: submitted.later };
    return { id: toWireId("email", id), messageId, date, from, to, cc, subject, submitted: content };
  }
  const { text, html } = JSON.parse(parts[0]!) as { text: string; html: string };
  return {
    id: toWireId("email", id),
    messageId,
    date,
    from,
    to,
    cc,
    replyTo,
    subject,
    text,
    html,
    inReplyTo,
    references,
    headers,
    attachments: attachments.map(({ filename, contentType, contentId }, i) => ({
      filename,
      contentType,
      contentId,
      base64: parts[i + 1]!,
    })),
  };
}
