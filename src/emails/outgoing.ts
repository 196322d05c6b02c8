/** Builds the input of compose from a stored email. Called for a delivery attempt and for GetEmailContent. */
import type { OutgoingEmail } from "../mail/compose.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Envelope } from "./store/emails.ts";
import { type StoredPart, textOfPart, wholePart } from "./store/parts.ts";

export type StoredEmail = { id: string; messageId: string; subject: string; envelope: Envelope; date: Date };

/** Reads large parts into memory. */
export async function readOutgoing(
  email: StoredEmail,
  parts: readonly StoredPart[],
  signal?: AbortSignal,
): Promise<OutgoingEmail> {
  const isSubmitted = email.envelope.submitted !== undefined;
  const texts: string[] = [];
  for (const [i, part] of parts.entries()) {
    if (typeof part === "string") texts.push(part);
    else if (i === 0 && !isSubmitted) texts.push(await textOfPart(part, signal));
    else texts.push((await wholePart(part, signal)).toString(i === 0 ? "latin1" : "base64"));
  }
  return toOutgoing(email, texts);
}

/** Leaves bcc out: it stays in the envelope and never reaches the composed message. */
function toOutgoing(email: StoredEmail, parts: readonly string[]): OutgoingEmail {
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
