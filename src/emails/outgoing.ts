/** Builds the input of compose from a stored email. Called for a delivery attempt and for GetEmailContent. */
import type { OutgoingEmail } from "../mail/compose.ts";
import type { LargeContent } from "../mail/mime/pieces.ts";
import { toWireId } from "../postgres/ids.ts";
import type { Envelope } from "./store/emails.ts";
import { largeFromBytes, type StoredPart, textOfPart, wholePart } from "./store/parts.ts";

export type StoredEmail = { id: string; messageId: string; subject: string; envelope: Envelope; date: Date };

/** The email with all of its content, for which large parts are read into memory. */
export async function readOutgoing(
  email: StoredEmail,
  parts: readonly StoredPart[],
  signal?: AbortSignal,
): Promise<OutgoingEmail> {
  const contents: string[] = [];
  for (const [i, part] of parts.entries()) {
    if (typeof part === "string") contents.push(part);
    else if (isTexts(email, i)) contents.push(await textOfPart(part, signal));
    else contents.push((await wholePart(part, signal)).toString(i === 0 ? "latin1" : "base64"));
  }
  return toOutgoing<never>(email, contents[0]!, contents);
}

/** The email without its large attachments, or without a large submitted message, which are read when they are sent. Large texts are read,
 * because their encoding depends on all of their characters. */
export async function readOutlined(
  email: StoredEmail,
  parts: readonly StoredPart[],
  signal?: AbortSignal,
): Promise<OutgoingEmail<LargeContent>> {
  const texts = isTexts(email, 0) ? await textOfPart(parts[0]!, signal) : "";
  const contents = parts.map((part, i) => (typeof part === "string" ? part : { part: i, bytes: part.bytes }));
  return toOutgoing<LargeContent>(email, texts, contents);
}

function isTexts({ envelope }: StoredEmail, part: number): boolean {
  return part === 0 && envelope.submitted === undefined;
}

/** Leaves bcc out: it stays in the envelope and never reaches the composed message. */
function toOutgoing<L>(email: StoredEmail, texts: string, contents: readonly (string | L)[]): OutgoingEmail<L> {
  const { from, to, cc, replyTo, headers, inReplyTo, references, attachments, submitted } = email.envelope;
  const { id, messageId, date, subject } = email;
  if (submitted) {
    const content = { message: contents[0]!, later: submitted.later };
    return { id: toWireId("email", id), messageId, date, from, to, cc, subject, submitted: content };
  }
  const { text, html } = JSON.parse(texts) as { text: string; html: string };
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
      base64: contents[i + 1]!,
    })),
  };
}

/** Reading in pieces takes more statements, so a smaller message is read at once. */
const streamedFromBytes = 1024 * 1024;

/** The octets of an email that are streamed from the store to the socket and never in memory as a whole. As far as its row says: which parts are
 * large is known when they are read. */
export function streamedBytes({ envelope, sizeBytes }: { envelope: Envelope; sizeBytes: number }): number {
  if (sizeBytes < streamedFromBytes) return 0;
  if (envelope.submitted) return sizeBytes;
  const isLarge = (bytes: number) => bytes > largeFromBytes;
  return envelope.attachments.reduce((sum, one) => sum + (isLarge(one.sizeBytes) ? one.sizeBytes : 0), 0);
}
