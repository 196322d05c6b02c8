/** The envelope of a transaction: checks it against the server's extensions and writes MAIL and RCPT. Used by transaction.ts. */
import type { Evidence } from "./evidence.ts";
import type { Extensions } from "./greet.ts";

export interface Message {
  /** The return path; empty for the null sender. */
  from: string;
  recipients: readonly string[];
  /** The composed message with CRLF line ends, before dot stuffing; or its source, if the message is not in memory yet. */
  data: MessageData | DataSource;
  /** Header fields of this copy alone, sent in front of `data`, which all copies share. ASCII lines with CRLF line ends. */
  prefix?: string;
  /** Header fields contain UTF-8 (RFC 6532): the message needs SMTPUTF8 even when all addresses are ASCII. */
  utf8Headers?: boolean;
  /** The body contains octets above 127. */
  eightBit?: boolean;
}

/** A message that is composed when the server is ready for it, so that a slow server does not keep it in memory. */
export interface DataSource {
  /** Undefined while the message is not composed. */
  readonly length: number | undefined;
  load(): Promise<MessageData>;
}

export type MessageData = Buffer | StreamedMessage;

/** A message that is read while it is sent. */
export interface StreamedMessage {
  /** Before dot stuffing. */
  readonly length: number;
  /** A read that fails, or returns another length, ends the connection before the final dot. */
  read(): AsyncIterable<MessagePiece>;
}

/** `isPlain`: whole lines that need no dot stuffing, such as base64. The memory of `bytes` may be used again once the next piece is requested. */
export type MessagePiece = { bytes: Buffer; isPlain: boolean };

/** For each recipient, why this server cannot get the message, or undefined when it can. */
export function screen(message: Message, extensions: Extensions): (Evidence | undefined)[] {
  const whole = screenMessage(message, extensions);
  return message.recipients.map((address) => whole ?? screenAddress(address, extensions));
}

export function envelopeCommands(message: Message, recipients: readonly string[], extensions: Extensions): string[] {
  const parameters: string[] = [];
  const bytes = messageBytes(message, message.data.length);
  if (extensions.has("SIZE") && bytes !== undefined) parameters.push(`SIZE=${bytes}`); // RFC 1870 §6
  if (message.eightBit) parameters.push("BODY=8BITMIME"); // RFC 6152 §2
  if (message.utf8Headers || [message.from, ...recipients].some(needsUtf8)) parameters.push("SMTPUTF8"); // RFC 6531 §3.4
  return [
    [`MAIL FROM:<${message.from}>`, ...parameters].join(" "),
    ...recipients.map((address) => `RCPT TO:<${address}>`),
  ];
}

function screenMessage(message: Message, extensions: Extensions): Evidence | undefined {
  if (message.from !== "" && !isSafe(message.from)) {
    return unsendable("bad-address", "the return path is not a valid address");
  }
  if ((message.utf8Headers || needsUtf8(message.from)) && !extensions.has("SMTPUTF8")) {
    return unsendable("smtputf8", "the message needs SMTPUTF8, which the receiving server does not offer");
  }
  if (message.eightBit && !extensions.has("8BITMIME")) {
    return unsendable("eight-bit", "the message needs 8BITMIME, which the receiving server does not offer");
  }
  return screenSize(messageBytes(message, message.data.length) ?? 0, extensions);
}

/** The size of the copy that is sent, before dot stuffing; undefined while `data` is not composed. */
export function messageBytes({ prefix = "" }: Message, dataBytes: number | undefined): number | undefined {
  return dataBytes === undefined ? undefined : prefix.length + dataBytes;
}

export function screenSize(bytes: number, extensions: Extensions): Evidence | undefined {
  // RFC 1870 §4: no number, or 0, means no fixed limit.
  const limit = Number(extensions.get("SIZE")?.[0] ?? 0);
  if (limit === 0 || bytes <= limit) return undefined;
  return unsendable("too-large", `the message has ${bytes} bytes, the receiving server accepts at most ${limit}`);
}

function screenAddress(address: string, extensions: Extensions): Evidence | undefined {
  if (!isSafe(address)) return unsendable("bad-address", "the recipient is not a valid address");
  if (needsUtf8(address) && !extensions.has("SMTPUTF8")) {
    return unsendable("smtputf8", "the address needs SMTPUTF8, which the receiving server does not offer");
  }
  return undefined;
}

/** True when nothing in the address can end the path or the command line. SendEmail has already checked its grammar. */
function isSafe(address: string): boolean {
  return (
    /^(?:"(?:[^"\\\p{Cc}]|\\[^\p{Cc}])*"|[^\s"<>\p{Cc}]+)@[^\s"<>@\p{Cc}]+$/u.test(address) && address.length <= 320
  );
}

function needsUtf8(address: string): boolean {
  return /[^\u0000-\u007f]/.test(address);
}

function unsendable(reason: Extract<Evidence, { kind: "unsendable" }>["reason"], message: string): Evidence {
  return { kind: "unsendable", reason, message };
}
