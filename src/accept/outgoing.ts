/** A stored email put together again as the one that is composed: for an attempt, and for a person who looks at it. */
import type { OutgoingEmail } from "../mail/compose.ts";
import type { Envelope } from "../store/emails.ts";
import { toWireId } from "../store/ids.ts";

export type StoredEmail = { id: string; messageId: string; subject: string; envelope: Envelope; date: Date };

/** Bcc stays behind in the envelope: what is composed never knew of it. */
export function toOutgoing(email: StoredEmail, parts: readonly string[]): OutgoingEmail {
  const { from, to, cc, replyTo, headers, inReplyTo, references, attachments } = email.envelope;
  const { text, html } = JSON.parse(parts[0]!) as { text: string; html: string };
  return {
    id: toWireId("email", email.id),
    messageId: email.messageId,
    date: email.date,
    from,
    to,
    cc,
    replyTo,
    subject: email.subject,
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
