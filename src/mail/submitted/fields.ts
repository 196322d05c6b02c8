/** Splits a submitted message into its header fields and its body, and writes fields that contain more than ASCII as ASCII.
 * Used by prepare.ts and seven-bit.ts. */
import { decodeWords } from "postal-mime";
import type { Address } from "../address.ts";
import { formatAddressHeader } from "../address-header.ts";
import { textField, tokensField } from "../mime/header.ts";
import { parameterTokens } from "../mime/parameter.ts";
import { parseMailboxes } from "./mailboxes.ts";

/** One header field as it arrived, without obsolete blanks. */
export type RawField = {
  name: string;
  /** The name in lower case. */
  key: string;
  /** The whole field with its name, folding and last line end. Each character is one octet. */
  text: string;
};

export type SplitMessage = { fields: RawField[]; body: Buffer };

/** The message cannot be sent as it is. The text completes the SMTP reply and says what to change. */
export class SubmittedProblem extends Error {
  override readonly name = "SubmittedProblem";
  /** The enhanced status code (RFC 3463). */
  readonly status: string;
  constructor(reason: string, status = "5.6.0") {
    super(reason);
    this.status = status;
  }
}

/** RFC 5322 §2.1.1. Mail servers cut or refuse longer lines. */
export const maxLineOctets = 998;

/** The caller has checked the size and the number of lines of the header. */
export function splitMessage(raw: Buffer): SplitMessage {
  const end = headerEnd(raw);
  const lines = raw.toString("latin1", 0, end.header).split("\r\n");
  // With BDAT, a message may end without a line end.
  if (lines.at(-1) === "") lines.pop();
  const fields: RawField[] = [];
  for (const line of lines) {
    if (line.length > maxLineOctets)
      throw new SubmittedProblem(
        `a header line has ${line.length} octets, at most ${maxLineOctets} are allowed: fold it`,
      );
    const last = fields.at(-1);
    if (/^[ \t]/.test(line) && last) {
      // RFC 5322 §3.2.2: a line of blanks is obsolete. Some receivers take it for the end of the header.
      if (/[^ \t]/.test(line)) last.text += `${line}\r\n`;
      continue;
    }
    const name = /^([!-9;-~]+)[ \t]*:/.exec(line)?.[1];
    if (name === undefined)
      throw new SubmittedProblem(
        `the header has the line ${quoted(line)}, which is not a field: write "Name: value", and an empty line before the text`,
      );
    // RFC 5322 §4.5: blanks before the colon are obsolete, and some receivers do not find such a field.
    fields.push({ name, key: name.toLowerCase(), text: `${name}${line.slice(line.indexOf(":"))}\r\n` });
  }
  return { fields, body: raw.subarray(end.body) };
}

/** Where the header ends, and where the body begins. A message may end after its header. */
function headerEnd(raw: Buffer): { header: number; body: number } {
  if (raw[0] === 0x0d && raw[1] === 0x0a) return { header: 0, body: 2 };
  const at = raw.indexOf("\r\n\r\n");
  return at < 0 ? { header: raw.length, body: raw.length } : { header: at + 2, body: at + 4 };
}

/** The value on one line, as Unicode. Header fields may be UTF-8 (RFC 6532), and no other charset. */
export function fieldValue({ name, text }: RawField): string {
  const value = text
    .slice(text.indexOf(":") + 1)
    .replace(/\r\n(?=[ \t])/g, "")
    .trim();
  if (isAscii(value)) return value;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(value, "latin1"));
  } catch {
    throw new SubmittedProblem(`the header field ${name} is neither ASCII nor UTF-8: encode it (RFC 2047)`, "5.6.7");
  }
}

/** The value with its encoded words decoded. */
export function textOf(field: RawField): string {
  return decodeWords(fieldValue(field))
    .replace(/\p{Cc}+/gu, " ")
    .toWellFormed();
}

/** The field in ASCII: encoded words in texts and names, RFC 2231 in parameters. */
export function asciiField(field: RawField): string {
  if (isAscii(field.text)) return field.text;
  const { name, key } = field;
  if (addressFields.has(key)) return addressField(name, parseMailboxes(fieldValue(field)));
  if (key === "content-type" || key === "content-disposition") return parametersField(field);
  return textField(name, textOf(field));
}

export const addressFields = new Set([
  "from",
  "sender",
  "reply-to",
  "to",
  "cc",
  "resent-from",
  "resent-to",
  "resent-cc",
]);

export function addressField(name: string, addresses: readonly Address[]): string {
  return addresses.length === 0 ? `${name}: undisclosed-recipients:;\r\n` : formatAddressHeader(name, addresses);
}

/** Content-Type and Content-Disposition: `value; name="parameter"`. */
function parametersField(field: RawField): string {
  const [value = "", ...parameters] = splitParameters(fieldValue(field));
  const tokens = parameters.flatMap((parameter) => {
    const at = parameter.indexOf("=");
    if (at < 0) return [];
    const name = parameter.slice(0, at).trim();
    const text = unquoted(parameter.slice(at + 1).trim());
    return isAscii(text) ? [`${name}=${parameter.slice(at + 1).trim()}`] : parameterTokens(name, decodeWords(text));
  });
  const all = [asAscii(value), ...tokens];
  return tokensField(
    field.name,
    all.map((token, i) => (i < all.length - 1 ? `${token};` : token)),
  );
}

/** Splits at semicolons outside of quoted strings. A string that does not end goes on to the end of the value: to look for the end of each one
 * again would take quadratic time. */
function splitParameters(value: string): string[] {
  return (value.match(/(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g) ?? []).map((part) => part.trim());
}

function unquoted(text: string): string {
  return text.startsWith('"') && text.endsWith('"') && text.length > 1
    ? text.slice(1, -1).replace(/\\(.)/g, "$1")
    : text;
}

function asAscii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

export function isAscii(text: string): boolean {
  return !/[^\x00-\x7f]/.test(text);
}

function quoted(line: string): string {
  return JSON.stringify(asAscii(line.slice(0, 40)));
}
