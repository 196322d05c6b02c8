/**
 * Reads a message that a program submits over SMTP, and writes the one that is stored and signed: the sender's header fields and parts, without
 * Bcc and the fields for Posthorn, in 7 bits. Called by submission/, inline if cost.ts allows it, else in a thread. Pure.
 */

import { type Address, parseAddress } from "../address.ts";
import { singleFields } from "../header-fields.ts";
import { headerProblem } from "../message/limits.ts";
import { readAttachedParts } from "../message/read.ts";
import { ShapeProblem } from "../message/structure.ts";
import { boundReferences, parseMessageId, parseMessageIds } from "../message-id.ts";
import {
  addressField,
  asciiField,
  fieldValue,
  isAscii,
  type RawField,
  SubmittedProblem,
  splitMessage,
  textOf,
} from "./fields.ts";
import { contentDigest, exactDigest } from "./fingerprint.ts";
import { parseMailboxes } from "./mailboxes.ts";
import { readOptions, type SubmittedOptions } from "./options.ts";
import { needsEncoding, toSevenBit } from "./seven-bit.ts";

/** Fields that are written when the message is composed: the id of the email is not known yet, its time may change, and the form of an
 * address depends on the receiver. */
export type LaterField = "Message-ID" | "Date" | "To" | "Cc";

export type Submitted = SubmittedOptions & {
  from: Address;
  to: Address[];
  cc: Address[];
  replyTo: Address[];
  subject: string;
  /** The sender's own, with angle brackets. Undefined: the email gets ours. */
  messageId: string | undefined;
  inReplyTo: string | undefined;
  references: string[];
  /** The parts that are not the text of the message. */
  attachments: AttachmentLabel[];
  later: LaterField[];
  /** The message needs 8BITMIME: it has 8-bit octets that a signature covers. */
  eightBit: boolean;
  /** The header without `later`, and the body. */
  message: Buffer;
  /** Equal for messages that count as the same one: with an idempotency key by their content, else by every octet. Undefined: the message has
   * neither a key nor a Message-ID, so that nothing says whether it is the same one. */
  digest: string | undefined;
};

/** `recipients` are those of the envelope. Throws SubmittedProblem. */
export function prepare(raw: Buffer, recipients: readonly string[]): Submitted {
  const shape = headerProblem(raw);
  if (shape) throw problemOf(shape);
  if (raw.includes(0)) throw new SubmittedProblem("the message contains NUL: encode binary content as base64");
  const { fields, body } = splitMessage(raw);
  refuseRepeated(fields);
  const options = readOptions(fields);
  const one = (key: string) => fields.find((field) => field.key === key);
  const from = readFrom(one("from"));
  const to = mailboxesOf(one("to"));
  const cc = mailboxesOf(one("cc"));
  const messageId = readMessageId(one("message-id"));
  const later = laterFields({ options, messageId, date: one("date"), to, cc });
  const kept = fields
    .filter(({ key }) => !isRemoved(key) && !later.some((name) => name.toLowerCase() === key))
    .map((field) => written(field, { from, messageId }))
    .join("");
  const added = missingFields(fields, later);
  const head = Buffer.from(`${kept}${added}\r\n`, "latin1");
  const { message, eightBit } = sevenBit(head, body);
  const digest = digestOf({ raw, message, options, messageId, recipients });
  return {
    ...options,
    from,
    to,
    cc,
    replyTo: mailboxesOf(one("reply-to")).slice(0, 10),
    subject: cut(one("subject")),
    messageId,
    inReplyTo: parseMessageIds(valueOr(one("in-reply-to")), 1)[0],
    references: boundReferences(parseMessageIds(valueOr(one("references")))),
    attachments: labelsOf(message, one("content-type")),
    later,
    eightBit,
    message,
    digest,
  };
}

export type AttachmentLabel = { filename: string; contentType: string; contentId?: string; sizeBytes: number };

const maxLabels = 100;
/** A type other than text, HTML and a multipart with parts of a known type; or a field that can make an attachment of a text. */
const otherPart =
  /^content-(?:disposition|id)[ \t]*:|^content-type[ \t]*:(?!\s*(?:text\/(?:plain|html)|multipart\/(?:alternative|mixed|related))\s*(?:;|\r\n|$))/im;

/** Finding the parts takes longer than all other steps, and most messages are text and HTML: then no line looks like the field of another part. */
function labelsOf(message: Buffer, type: RawField | undefined): AttachmentLabel[] {
  if (!type || !otherPart.test(message.toString("latin1"))) return [];
  try {
    return readAttachedParts(message)
      .slice(0, maxLabels)
      .map(({ filename, contentType, contentId, sizeBytes }) => ({
        filename,
        contentType,
        ...(contentId !== "" && { contentId }),
        sizeBytes,
      }));
  } catch (error) {
    if (error instanceof ShapeProblem) throw new SubmittedProblem(error.message);
    throw error;
  }
}

function digestOf(about: {
  raw: Buffer;
  message: Buffer;
  options: SubmittedOptions;
  messageId: string | undefined;
  recipients: readonly string[];
}): string | undefined {
  const { raw, message, options, messageId, recipients } = about;
  if (options.idempotencyKey !== undefined) return contentDigest(message, options, recipients);
  return messageId === undefined ? undefined : exactDigest(raw, recipients);
}

function sevenBit(head: Buffer, body: Buffer): { message: Buffer; eightBit: boolean } {
  const message = withLastLine([head, body]);
  if (!needsEncoding(message)) return { message, eightBit: false };
  const encoded = toSevenBit(message);
  return { ...encoded, message: withLastLine([encoded.message]) };
}

/** SMTP transfers whole lines. */
function withLastLine(pieces: Buffer[]): Buffer {
  const last = pieces.findLast(({ length }) => length > 0);
  return Buffer.concat(last?.at(-1) === LF ? pieces : [...pieces, Buffer.from("\r\n")]);
}

const LF = 0x0a;

/** A reply such as `554 5.6.0 the header has …`. */
function problemOf(reply: string): SubmittedProblem {
  const [, status = "5.6.0", reason = reply] = /^\d{3} (\d\.\d\.\d) (.*)$/.exec(reply) ?? [];
  return new SubmittedProblem(reason, status);
}

function refuseRepeated(fields: readonly RawField[]): void {
  const seen = new Set<string>();
  for (const { key, name } of fields) {
    if (singleFields.has(key) && seen.has(key))
      throw new SubmittedProblem(`the header has more than one ${name} field: keep one`);
    seen.add(key);
  }
}

/** Blind copies stay in the envelope. The return path and the fields for Posthorn are ours. */
function isRemoved(key: string): boolean {
  return key === "bcc" || key === "resent-bcc" || key === "return-path" || key.startsWith("x-posthorn-");
}

function readFrom(field: RawField | undefined): Address {
  if (!field)
    throw new SubmittedProblem("the header has no From field: add one, such as From: Shop <news@example.com>");
  const value = fieldValue(field);
  const found = parseMailboxes(value);
  if (found.length !== 1) {
    const reason = found.length > 1 ? "From has more than one address: write one" : reasonOf(withoutWords(value));
    throw new SubmittedProblem(reason, "5.1.7");
  }
  const [from] = found as [Address];
  // Receivers verify the domain of From, and without SMTPUTF8 they could not read this one.
  if (from.smtputf8) throw new SubmittedProblem("From must use only ASCII before the @", "5.1.7");
  return from;
}

/** `value` without comments, which mail programs write after an address or instead of one. */
function reasonOf(value: string): string {
  const read = parseAddress(value.replace(/\([^()]*\)/g, ""));
  return `From: ${read.ok ? "write one address such as Shop <news@example.com>" : read.reason}`;
}

/** Encoded words are valid in a name, but our own strict parser refuses them. */
function withoutWords(value: string): string {
  return value.replace(/=\?[^?]{1,40}\?[BbQq]\?[^?]{0,200}\?=/g, "x");
}

/** Each field as it is stored. From is rewritten unless the strict parser reads the same address from it, so that no receiver reads another one. */
function written(field: RawField, { from, messageId }: { from: Address; messageId: string | undefined }): string {
  if (field.key === "from") {
    const strict = parseAddress(withoutWords(fieldValue(field)));
    const isSame = strict.ok && strict.address.address === from.address;
    return isSame && isAscii(field.text) && isSingleLineAddress(field) ? field.text : addressField(field.name, [from]);
  }
  if (field.key === "message-id") return messageId === undefined ? "" : `Message-ID: ${messageId}\r\n`;
  return asciiField(field);
}

/** Comments and groups are rewritten. */
function isSingleLineAddress({ text }: RawField): boolean {
  return !/[();]|,.*</s.test(text.slice(text.indexOf(":") + 1).replace(/"(?:[^"\\]|\\.)*"/g, ""));
}

function mailboxesOf(field: RawField | undefined): Address[] {
  return field ? parseMailboxes(fieldValue(field)) : [];
}

function valueOr(field: RawField | undefined): string {
  return field ? fieldValue(field) : "";
}

/** An id that is not valid is replaced by ours. */
function readMessageId(field: RawField | undefined): string | undefined {
  if (!field) return undefined;
  const value = fieldValue(field);
  const [bracketed] = parseMessageIds(value, 1);
  const read = parseMessageId(bracketed ?? value);
  return read.ok ? read.messageId : undefined;
}

function laterFields(about: {
  options: SubmittedOptions;
  messageId: string | undefined;
  date: RawField | undefined;
  to: readonly Address[];
  cc: readonly Address[];
}): LaterField[] {
  const { options, messageId, date, to, cc } = about;
  const later: LaterField[] = [];
  if (messageId === undefined) later.push("Message-ID");
  if (options.scheduledAt || !date || Number.isNaN(Date.parse(fieldValue(date)))) later.push("Date");
  if (to.some(({ smtputf8 }) => smtputf8)) later.push("To");
  if (cc.some(({ smtputf8 }) => smtputf8)) later.push("Cc");
  return later;
}

function missingFields(fields: readonly RawField[], later: readonly LaterField[]): string {
  const has = (key: string) => fields.some((field) => field.key === key);
  const noRecipients = !has("to") && !has("cc") && !later.includes("To");
  return `${noRecipients ? "To: undisclosed-recipients:;\r\n" : ""}${has("mime-version") ? "" : "MIME-Version: 1.0\r\n"}`;
}

const maxSubject = 998;

function cut(field: RawField | undefined): string {
  return field ? textOf(field).slice(0, maxSubject).toWellFormed() : "";
}
