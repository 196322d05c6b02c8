/**
 * mail/ holds the formats, without I/O: addresses, mime/ (parts and encodings), DKIM, SPF and DMARC, message/ and report/ (received mail).
 * This file composes an email into the bytes that are signed and sent: CRLF line ends, 7-bit, the same bytes at every attempt.
 * delivery/compose calls it, inline or in a worker thread. Next: dkim.ts signs the result; message/digest.ts reads received mail.
 */

import type { Address } from "./address.ts";
import { formatAddressHeader } from "./address-header.ts";
import { checkHeaderField } from "./header-fields.ts";
import { boundReferences, uuidOf } from "./message-id.ts";
import { type Attachment, attachmentPart, isLargeContent, withSemicolons } from "./mime/attachment.ts";
import { base64Characters, base64LinesSize } from "./mime/base64.ts";
import { textField, tokensField } from "./mime/header.ts";
import { type LargeContent, type Outline, outlineOf, type Part, type Piece, writePieces } from "./mime/pieces.ts";
import { encodeTextBody, textBodySizeAtMost } from "./mime/text-body.ts";
import { copyField } from "./return-path.ts";
import type { LaterField } from "./submitted/prepare.ts";

/** The email to compose, without Bcc: only the envelope contains those recipients. Plain data, so that it can be posted to a worker.
 * `L`: LargeContent where large parts may be read when they are sent. */
export type OutgoingEmail<L = never> = {
  /** `em_` and a UUID. The boundaries are derived from it. */
  id: string;
  /** With its angle brackets, from `makeMessageId`. */
  messageId: string;
  /** The Date header: when the email was accepted, or the time for which it was scheduled. */
  date: Date;
  /** Must have an ASCII local part: no 7-bit form would show receivers the domain that DMARC checks. */
  from: Address;
  to: readonly Address[];
  cc?: readonly Address[];
  /** Must have ASCII local parts, so that every recipient can reply. */
  replyTo?: readonly Address[];
  subject: string;
  text?: string;
  html?: string;
  inReplyTo?: string;
  /** Oldest first, each with its angle brackets. */
  references?: readonly string[];
  /** Custom fields such as List-Unsubscribe, each accepted by `checkHeaderField`. */
  headers?: readonly (readonly [name: string, value: string])[];
  attachments?: readonly Attachment<L>[];
  /** The message as a program submitted it. Replaces all content except for the fields in `later`. */
  submitted?: SubmittedContent<L>;
};

export type SubmittedContent<L = never> = {
  /** As text, each character is one octet. Or a message that is read when it is sent. */
  message: string | Uint8Array | L;
  /** The fields that it has not. */
  later: readonly LaterField[];
};

export type ComposeOptions = {
  /** Free octets in front of the message, for the signature that is written later. */
  headroom?: number;
  /** For a session with SMTPUTF8: the header is UTF-8 and contains non-ASCII local parts unchanged (RFC 6532). */
  smtputf8?: boolean;
};

/** Returns the message after `headroom` zero octets. Throws on input that emails/rules/check.ts should have refused. */
export function compose(email: OutgoingEmail, { headroom = 0, smtputf8 = false }: ComposeOptions = {}): Buffer {
  return writePieces(piecesOf(email, smtputf8), headroom);
}

/** The same message, of an email with large parts. */
export function composeOutline(
  email: OutgoingEmail<LargeContent>,
  { smtputf8 = false }: Pick<ComposeOptions, "smtputf8"> = {},
): Outline {
  return outlineOf(piecesOf(email, smtputf8));
}

function piecesOf(email: OutgoingEmail<LargeContent>, smtputf8: boolean): Piece[] {
  if (email.submitted) return submittedPieces(email, email.submitted, smtputf8);
  const [head, ...body] = bodyPart(email);
  const last = body.at(-1);
  // An SMTP message ends with a line end, so add one where the text has none.
  if (last instanceof Uint8Array && last.length > 0 && last.at(-1) !== LF) body.push("\r\n");
  return [headerOf(email, smtputf8) + head, ...body];
}

function submittedPieces(
  email: OutgoingEmail<LargeContent>,
  { message, later }: SubmittedContent<LargeContent>,
  smtputf8: boolean,
): Piece[] {
  const fields: Record<LaterField, () => string> = {
    "Message-ID": () => tokensField("Message-ID", [checkedId(email.messageId)]),
    Date: () => dateField(email.date),
    To: () => formatAddressHeader("To", email.to, { utf8: smtputf8 }),
    Cc: () => formatAddressHeader("Cc", email.cc ?? [], { utf8: smtputf8 }),
  };
  const content = typeof message === "string" ? Buffer.from(message, "latin1") : message;
  const head = later.map((name) => fields[name]()).join("");
  return [head, isLargeContent(content) ? { large: content, isBase64: false } : content];
}

/** An upper bound of the composed size, for the size limit of SendEmail: exact for large parts, generous for the rest. */
export function composedSizeAtMost(email: OutgoingEmail<LargeContent>): number {
  let size = 4096;
  for (const list of [[email.from], email.to, email.cc ?? [], email.replyTo ?? []]) {
    for (const { name, address } of list) size += 100 + 4 * Buffer.byteLength(name) + 4 * Buffer.byteLength(address);
  }
  size += 4 * Buffer.byteLength(email.subject);
  for (const id of boundReferences(email.references ?? [])) size += id.length + 3;
  for (const [name, value] of email.headers ?? []) size += 100 + name.length + 4 * Buffer.byteLength(value);
  for (const text of [email.text ?? "", email.html ?? ""]) size += 512 + textBodySizeAtMost(text);
  for (const { base64, filename, contentType } of email.attachments ?? []) {
    const characters = isLargeContent(base64) ? base64Characters(base64.bytes) : base64.length;
    size += 1024 + 8 * Buffer.byteLength(filename) + 2 * contentType.length + base64LinesSize(characters);
  }
  return size;
}

const LF = 0x0a;

function headerOf(email: OutgoingEmail<LargeContent>, utf8: boolean): string {
  if ([email.from, ...(email.replyTo ?? [])].some(({ smtputf8 }) => smtputf8)) {
    throw new Error("From and Reply-To must have ASCII local parts");
  }
  const addresses = (field: string, list: readonly Address[] = []) =>
    list.length === 0 ? "" : formatAddressHeader(field, list, { utf8 });
  const ids = (field: string, list: readonly string[]) =>
    list.length === 0 ? "" : tokensField(field, list.map(checkedId));
  return (
    addresses("From", [email.from]) +
    addresses("To", email.to) +
    addresses("Cc", email.cc) +
    addresses("Reply-To", email.replyTo) +
    textField("Subject", email.subject) +
    dateField(email.date) +
    ids("Message-ID", [email.messageId]) +
    ids("In-Reply-To", email.inReplyTo === undefined ? [] : [email.inReplyTo]) +
    ids("References", boundReferences(email.references ?? [])) +
    (email.headers ?? []).filter(isAllowed).map(customField).join("") +
    "MIME-Version: 1.0\r\n"
  );
}

/** RFC 5322 §3.3: the time zone is numeric; GMT is obsolete. */
function dateField(date: Date): string {
  return `Date: ${date.toUTCString().replace("GMT", "+0000")}\r\n`;
}

function checkedId(id: string): string {
  if (!/^<[!-;=?-~]{1,898}>$/.test(id)) throw new Error("a threading header contains a value that is not a Message-ID");
  return id;
}

/** Earlier releases accepted the field that identifies a copy. Mail that they accepted is sent without it. */
function isAllowed([name]: readonly [string, string]): boolean {
  return name.toLowerCase() !== copyField.toLowerCase();
}

function customField([name, value]: readonly [string, string]): string {
  const checked = checkHeaderField(name, value);
  if (!checked.ok) throw new Error(checked.reason);
  return textField(name, value);
}

// mixed( alternative( text, related( html, inline images ) ), attachments ). Without attachments there is no mixed level, with only
// one of text and HTML no alternative, and without inline images no related.
function bodyPart(email: OutgoingEmail<LargeContent>): Part {
  const boundary = boundaries(email.id);
  const { html = "", text = "" } = email;
  const attachments = email.attachments ?? [];
  const isInline = (attachment: Attachment<LargeContent>) => html !== "" && attachment.contentId !== undefined;
  const inline = attachments.filter(isInline).map((attachment) => attachmentPart(attachment, "inline"));
  const attached = attachments.filter((one) => !isInline(one)).map((one) => attachmentPart(one, "attachment"));

  const contents: Part[] = [];
  if (text !== "") contents.push(textPart("plain", text));
  if (html !== "") {
    const page = textPart("html", html);
    // RFC 2387 §3.1: `type` is the type of the root part.
    contents.push(inline.length === 0 ? page : multipart("related", boundary(), [page, ...inline], 'type="text/html"'));
  }
  if (contents.length === 0 && attached.length === 0) return textPart("plain", "");
  const content = contents.length > 1 ? [multipart("alternative", boundary(), contents)] : contents;
  return attached.length === 0 ? content[0]! : multipart("mixed", boundary(), [...content, ...attached]);
}

function textPart(subtype: "plain" | "html", text: string): Part {
  const { encoding, content } = encodeTextBody(text);
  const head = `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;
  return [head, content];
}

function multipart(subtype: string, boundary: string, parts: readonly Part[], parameter?: string): Part {
  const parameters = parameter === undefined ? [`boundary="${boundary}"`] : [parameter, `boundary="${boundary}"`];
  const pieces: Piece[] = [];
  for (const part of parts) {
    pieces.push(`--${boundary}\r\n`, ...part);
    // RFC 2046 §5.1.1: the line end before a boundary belongs to the boundary, not to the text. Base64 content already ends with one.
    if (part.at(-1) instanceof Uint8Array) pieces.push("\r\n");
  }
  return [
    `${tokensField("Content-Type", withSemicolons(`multipart/${subtype}`, parameters))}\r\n`,
    ...pieces,
    `--${boundary}--\r\n`,
  ];
}

/**
 * The boundaries of one message, in order. No line of quoted-printable or base64 starts with "--=_", and encodeTextBody never sends
 * a text with such a line as 7bit.
 */
function boundaries(emailId: string): () => string {
  const stem = uuidOf(emailId).replaceAll("-", "");
  let count = 0;
  return () => `=_${stem}.${++count}`;
}
