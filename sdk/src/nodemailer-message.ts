/** Converts a message of nodemailer to an email of the API. nodemailer.ts calls it for each message. */
import type { AddressObject } from "./address.ts";
import { toBase64 } from "./base64.ts";
import { startDeadline } from "./deadline.ts";
import type { SendEmail } from "./email-request.ts";
import { badArgument, PosthornError } from "./error.ts";
import { type HeaderData, readHeaders } from "./nodemailer-headers.ts";

/** The parts of nodemailer's MailMessage that the transport uses. They are the same since nodemailer 6. */
export interface MailMessage {
  data: object;
  message: object;
  normalize(callback: (error?: Error | null, data?: unknown) => void): void;
}

/** An address as nodemailer parses it: of one mailbox, or a group with a name and members. */
interface ParsedAddress {
  name?: string;
  address?: string;
  group?: ParsedAddress[];
}

interface MailData extends HeaderData {
  [field: string]: unknown;
  attachments?: unknown;
}

interface ResolvedAttachment {
  filename: string;
  content?: unknown;
  encoding?: string;
  contentType?: string;
  cid?: string;
}

export interface ConvertedMessage {
  email: SendEmail & { idempotencyKey?: string };
  envelope: { from: string; to: string[] };
}

const overSmtp = "Remove it, or send this message over SMTP, where Posthorn keeps the message as nodemailer builds it";

/** Message fields that the API has no place for. They are refused, because the message would arrive without them. */
const refusedFields: Readonly<Record<string, string>> = {
  raw: `cannot be sent: Posthorn builds the message itself. ${overSmtp}`,
  messageId: `cannot be set: Posthorn generates the Message-ID, and sendMail returns it as info.messageId. ${overSmtp}`,
  date: "cannot be set: Posthorn sets the Date header. Remove it, or use the header X-Posthorn-Scheduled-At to send later",
  sender: "cannot be set: receivers would show another sender than from. Remove it",
  alternatives: `cannot be sent: an email has text, html and attachments. ${overSmtp}`,
  amp: `cannot be sent: an email has text, html and attachments. ${overSmtp}`,
  dsn: "cannot be requested: Posthorn reports outcomes as events and webhooks, not by mail. Remove it",
  watchHtml: `cannot be sent: an email has text, html and attachments. ${overSmtp}`,
  icalEvent: `cannot be sent: attach the file instead, with contentType "text/calendar; method=REQUEST". Or send this message over SMTP`,
};

export async function convertMessage(mail: MailMessage, timeoutMs: number): Promise<ConvertedMessage> {
  const data = mail.data as MailData;
  for (const [field, description] of Object.entries(refusedFields))
    if (isSet(data[field])) throw badArgument(field, description);
  const given = copyAttachments(data);
  const resolved = await normalize(mail, timeoutMs);
  const addresses = readAddresses(mail, resolved);
  const recipients = [...new Set([...addresses.to, ...addresses.cc, ...addresses.bcc].map(({ address }) => address!))];
  checkEnvelope(data.envelope, resolved.envelope, recipients);
  return {
    email: {
      from: toObject(addresses.from),
      to: addresses.to.map(toObject),
      cc: addresses.cc.map(toObject),
      bcc: addresses.bcc.map(toObject),
      replyToAddresses: addresses.replyTo.map(toObject),
      body: textOf(resolved.text, "text"),
      html: textOf(resolved.html, "html"),
      attachments: ((resolved.attachments ?? []) as ResolvedAttachment[]).map((one, i) => toInput(one, given[i]!, i)),
      ...readHeaders(mail.message, resolved),
    },
    envelope: { from: addresses.from.address!, to: recipients },
  };
}

function isSet(value: unknown): boolean {
  return Boolean(value) && !(Array.isArray(value) && value.length === 0);
}

/** Returns the attachments as given. nodemailer replaces the entries while it reads them, so it gets copies. */
function copyAttachments(data: MailData): Record<string, unknown>[] {
  if (!isSet(data.attachments)) return [];
  const given = (Array.isArray(data.attachments) ? data.attachments : [data.attachments]) as Record<string, unknown>[];
  for (const [i, one] of given.entries()) {
    const field = `attachments[${i}]`;
    if (typeof one !== "object" || one === null)
      throw badArgument(field, "must be an object, such as { filename, content }");
    if (isSet(one.raw)) throw badArgument(`${field}.raw`, `cannot be sent. ${overSmtp}`);
    if (isSet(one.headers)) throw badArgument(`${field}.headers`, `cannot be set. ${overSmtp}`);
    if (!["content", "path", "href"].some((name) => one[name] !== undefined && one[name] !== null))
      throw badArgument(field, "has no content: set content, path or href");
  }
  data.attachments = given.map((one) => ({ ...one }));
  return given;
}

/** nodemailer reads files, URLs and streams, without a time limit of its own, and parses the addresses. */
async function normalize(mail: MailMessage, timeoutMs: number): Promise<MailData> {
  const deadline = startDeadline(timeoutMs, undefined);
  const reading = new Promise<MailData>((resolve, reject) => {
    mail.normalize((error, data) => {
      if (!error) return resolve(data as MailData);
      const reason = error.message || String(error);
      reject(new PosthornError("invalid_argument", `The message cannot be read: ${reason}`, { cause: error }));
    });
  });
  try {
    return await deadline.race(reading);
  } catch (error) {
    if (!deadline.error()) throw error;
    const reason = `The message was not read within ${timeoutMs} ms (timeoutMs): a file, a URL or a stream did not end.`;
    throw new PosthornError("deadline_exceeded", reason);
  } finally {
    deadline.clear();
  }
}

function readAddresses({ message }: MailMessage, resolved: MailData) {
  const { from: senders = [] } = (message as { getAddresses(): { from?: ParsedAddress[] } }).getAddresses();
  if (senders.length > 1) throw badArgument("from", "has several addresses: an email has one sender");
  const [from] = mailboxes("from", resolved.from);
  if (!from) throw badArgument("from", "is required: set it in the message or in the defaults of createTransport");
  return {
    from,
    to: mailboxes("to", resolved.to),
    cc: mailboxes("cc", resolved.cc),
    bcc: mailboxes("bcc", resolved.bcc),
    replyTo: mailboxes("replyTo", resolved.replyTo),
  };
}

/** nodemailer leaves out text without an address. Here it is an error, because the recipient would not get the email. */
function mailboxes(field: string, value: unknown): ParsedAddress[] {
  const entries = (isSet(value) ? (Array.isArray(value) ? value : [value]) : []) as ParsedAddress[];
  return entries.flatMap((entry) => {
    if (entry.group) return mailboxes(field, entry.group);
    if (entry.address) return [entry];
    throw badArgument(field, `${JSON.stringify(entry.name ?? "")} is not an address such as ada@example.com`);
  });
}

function toObject({ name = "", address }: ParsedAddress): AddressObject {
  return { address: address!, name: name.replace(/[\r\n]+/g, " ") };
}

/** Posthorn receives the bounces, so the envelope's sender has no effect here. Its recipients must be those of the headers. */
function checkEnvelope(given: unknown, envelope: unknown, recipients: readonly string[]): void {
  if (!isSet(given)) return;
  const { to } = envelope as { to: string[] };
  if (to.length === 0 || (to.length === recipients.length && to.every((address) => recipients.includes(address))))
    return;
  throw badArgument("envelope", `must have the recipients of to, cc and bcc. ${overSmtp}`);
}

function textOf(value: unknown, field: string): string | undefined {
  if (typeof value === "string") return value;
  if (value === undefined || value === null || value === false) return undefined;
  const { content } = value as { content?: unknown };
  if (content === "" || content === undefined) return undefined;
  throw badArgument(field, "must be a string, a Buffer, a stream, or an object with content, path or href");
}

function toInput(resolved: ResolvedAttachment, given: Record<string, unknown>, index: number) {
  const { filename, contentType, cid } = resolved;
  return { filename, contentType, contentId: cid?.replace(/^<|>$/g, ""), content: contentOf(resolved, given, index) };
}

function contentOf({ content, encoding }: ResolvedAttachment, given: Record<string, unknown>, index: number): string {
  if (typeof content === "string") return encoding === "base64" ? content : toBase64(new TextEncoder().encode(content));
  if (ArrayBuffer.isView(content))
    return toBase64(new Uint8Array(content.buffer, content.byteOffset, content.byteLength));
  // nodemailer returns the whole entry for an empty string.
  if (given.content === "") return "";
  throw badArgument(`attachments[${index}].content`, "must be a string, a Buffer or a stream");
}
