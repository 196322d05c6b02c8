/** All that the service wants to know of a received message, as plain data: read once, in a worker where it is large. */
import { isAutomatic } from "../auto-reply.ts";
import { htmlToText } from "../html-text.ts";
import { boundReferences, parseMessageIds } from "../message-id.ts";
import { newTextOf } from "../reply-text.ts";
import { type BounceReport, readBounce } from "../report/bounce.ts";
import { type ComplaintReport, readComplaint } from "../report/complaint.ts";
import { type Field, fieldOf, type ReadMessage, readMessage, writtenAddress } from "./read.ts";

export type AttachmentLabel = {
  id: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  /** Empty for an ordinary attachment. */
  contentId: string;
};

export type Texts = {
  /** Plain text; made from the HTML where the message has none. */
  body: string;
  newText: string;
  html: string;
};

export type Digest = Texts & {
  /** `Name <a@b>` of the From header. */
  from: string;
  fromAddress: string;
  subject: string;
  /** With angle brackets; empty where there is none. */
  messageId: string;
  inReplyTo: string;
  /** The chain that an answer to this message goes on with, oldest first. */
  references: string[];
  /** Ids that the message may be an answer to, the likeliest first. */
  answers: string[];
  automatic: boolean;
  attachments: AttachmentLabel[];
  report: BounceReport | ComplaintReport | undefined;
};

export async function digestMessage(raw: Uint8Array, { sender }: { sender: string }): Promise<Digest> {
  const message = await readMessage(raw);
  const { inReplyTo, references } = message;
  return {
    ...textsOf(message),
    from: writtenAddress(message.from) || sender,
    fromAddress: message.from.address || sender,
    subject: message.subject.slice(0, 2000),
    messageId: message.messageId,
    inReplyTo: inReplyTo[0] ?? references.at(-1) ?? "",
    references: boundReferences(references.length > 0 ? references : inReplyTo.slice(0, 1)),
    answers: [...new Set([...inReplyTo, ...originalIds(message.fields), ...references.toReversed()])].slice(0, 60),
    automatic: isAutomatic({ fields: message.fields, sender, subject: message.subject }),
    attachments: message.parts.map(({ content, ...label }) => ({ ...label, sizeBytes: content.length })),
    report: readComplaint(message) ?? readBounce(message, sender),
  };
}

/** The texts alone, for those who read a stored message. */
export function textsOf(message: ReadMessage): Texts {
  // Empty lines at the end are the transport's, not the writer's; the message itself is kept as it came.
  const body = message.text !== "" || message.html === "" ? message.text.trimEnd() : htmlToText(message.html);
  return { body, newText: newTextOf(body), html: message.html };
}

/** Microsoft's servers may change a Message-ID on the way and keep the one we wrote here. */
function originalIds(fields: readonly Field[]): string[] {
  return parseMessageIds(fieldOf(fields, "x-microsoft-original-message-id"));
}
