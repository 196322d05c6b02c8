/** What a transaction says before DATA: the message's envelope, checked against the server's extensions, as command lines. */
import type { Evidence } from "../rules/outcome-evidence.ts";
import type { Extensions } from "./greet.ts";

export interface Message {
  /** The return path; empty for the null sender. */
  from: string;
  recipients: readonly string[];
  /** The composed message: CRLF line ends only, no dots stuffed. */
  data: Buffer;
  /** Header fields hold UTF-8 (RFC 6532): needs SMTPUTF8 even when all addresses are ASCII. */
  utf8Headers?: boolean;
  /** The body holds octets above 127. */
  eightBit?: boolean;
}

/** Why a recipient cannot be offered to this server at all, or undefined where it can. */
export function screen(message: Message, extensions: Extensions): (Evidence | undefined)[] {
  const whole = screenMessage(message, extensions);
  return message.recipients.map((address) => whole ?? screenAddress(address, extensions));
}

export function envelopeCommands(message: Message, recipients: readonly string[], extensions: Extensions): string[] {
  const parameters: string[] = [];
  if (extensions.has("SIZE")) parameters.push(`SIZE=${message.data.length}`); // RFC 1870 §6
  if (message.eightBit) parameters.push("BODY=8BITMIME"); // RFC 6152 §2
  if (message.utf8Headers || [message.from, ...recipients].some(needsUtf8)) parameters.push("SMTPUTF8"); // RFC 6531 §3.4
  return [
    [`MAIL FROM:<${message.from}>`, ...parameters].join(" "),
    ...recipients.map((address) => `RCPT TO:<${address}>`),
  ];
}

function screenMessage(message: Message, extensions: Extensions): Evidence | undefined {
  if (message.from !== "" && !isSafe(message.from)) {
    return unsendable("bad-address", "the return path is not a plain address");
  }
  if ((message.utf8Headers || needsUtf8(message.from)) && !extensions.has("SMTPUTF8")) {
    return unsendable("smtputf8", "the message needs SMTPUTF8, which the receiving server does not offer");
  }
  if (message.eightBit && !extensions.has("8BITMIME")) {
    return unsendable("eight-bit", "the message needs 8BITMIME, which the receiving server does not offer");
  }
  // RFC 1870 §4: no number, or 0, means no fixed limit.
  const limit = Number(extensions.get("SIZE")?.[0] ?? 0);
  if (limit > 0 && message.data.length > limit) {
    return unsendable("too-large", `the message has ${message.data.length} bytes, the receiving server takes ${limit}`);
  }
  return undefined;
}

function screenAddress(address: string, extensions: Extensions): Evidence | undefined {
  if (!isSafe(address)) return unsendable("bad-address", "the recipient is not a plain address");
  if (needsUtf8(address) && !extensions.has("SMTPUTF8")) {
    return unsendable("smtputf8", "the address needs SMTPUTF8, which the receiving server does not offer");
  }
  return undefined;
}

/** Nothing that could end the path or the command line: the grammar proper was judged when the email was accepted. */
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
