/** Reads a received message into plain data: texts, threading, attachments, report. Called by inbound/thread.ts. */
import { parseAddress } from "../address.ts";
import { isAutomatic } from "../auto-reply.ts";
import { htmlToText } from "../html-text.ts";
import { boundReferences, parseMessageIds } from "../message-id.ts";
import { newTextOf } from "../reply-text.ts";
import { type BounceReport, readBounce } from "../report/bounce.ts";
import { type ComplaintReport, readComplaint } from "../report/complaint.ts";
import {
  type BodyPosition,
  displayAddress,
  type Field,
  fieldOf,
  type ReadMessage,
  type ReadPart,
  readMessage,
} from "./read.ts";

export type AttachmentLabel = {
  id: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  /** Empty for an ordinary attachment. */
  contentId: string;
};

export type Texts = {
  /** The plain text, or the text of the HTML if the message has no plain text. */
  body: string;
  newText: string;
  html: string;
};

export type Digest = Texts & {
  /** `Name <a@b>` of the From header. */
  from: string;
  fromAddress: string;
  /** Where answers go, as `Name <a@b>`. Empty if it is the sender, or no address that mail can be sent to. */
  replyTo: string;
  subject: string;
  /** With angle brackets; empty if the message has none. */
  messageId: string;
  inReplyTo: string;
  /** The References chain for a reply to this message, oldest first. */
  references: string[];
  /** Message-IDs that the message may be a reply to, most likely first. */
  repliesTo: string[];
  automatic: boolean;
  attachments: AttachmentLabel[];
  /** Where the body of each attachment is in the message. */
  positions: (BodyPosition | undefined)[];
  report: BounceReport | ComplaintReport | undefined;
};

export async function digestMessage(raw: Uint8Array, { sender }: { sender: string }): Promise<Digest> {
  const message = readMessage(raw);
  const { inReplyTo, references } = message;
  return {
    ...textsOf(message),
    from: displayAddress(message.from) || sender,
    fromAddress: message.from.address || sender,
    replyTo: replyToOf(message),
    subject: message.subject.slice(0, 2000),
    messageId: message.messageId,
    inReplyTo: inReplyTo[0] ?? references.at(-1) ?? "",
    references: boundReferences(references.length > 0 ? references : inReplyTo.slice(0, 1)),
    repliesTo: [...new Set([...inReplyTo, ...originalIds(message.fields), ...references.toReversed()])].slice(0, 60),
    automatic: isAutomatic({ fields: message.fields, sender, subject: message.subject }),
    attachments: message.parts.map(labelOf),
    positions: message.parts.map(({ position }) => position),
    report: readComplaint(message) ?? readBounce(message, sender),
  };
}

function replyToOf({ from, replyTo }: ReadMessage): string {
  const text = replyTo.address === from.address ? "" : displayAddress(replyTo);
  return text !== "" && parseAddress(text).ok ? text : "";
}

function labelOf({ id, filename, contentType, sizeBytes, contentId }: ReadPart): AttachmentLabel {
  return { id, filename, contentType, sizeBytes, contentId };
}

/** Only the texts, for inbound/stored.ts, which reads a stored message. */
export function textsOf(message: ReadMessage): Texts {
  // Mail servers add empty lines at the end, so they are removed. The stored message keeps them.
  const body = message.text !== "" || message.html === "" ? message.text.trimEnd() : htmlToText(message.html);
  return { body, newText: newTextOf(body), html: message.html };
}

/** Microsoft's servers may replace a Message-ID in transit; they keep the original one in this field. */
function originalIds(fields: readonly Field[]): string[] {
  return parseMessageIds(fieldOf(fields, "x-microsoft-original-message-id"));
}
