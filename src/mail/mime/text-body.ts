/** Chooses how a text body travels in 7-bit lines: as it is, as quoted-printable or as base64. */

import { base64LinesSize } from "./base64.ts";
import { encodeQuotedPrintable } from "./quoted-printable.ts";

export type TextBody = { encoding: "7bit" | "quoted-printable" | "base64"; content: Uint8Array | { base64: string } };

/** Line ends become CRLF; everything else, a CR on its own included, reaches the reader as given. */
export function encodeTextBody(text: string): TextBody {
  if (isSendable(text)) return { encoding: "7bit", content: Buffer.from(toCrlf(text), "latin1") };
  const bytes = Buffer.from(text);
  // Source that people can read is worth having only while it is not the longer one: Cyrillic or Japanese goes as
  // base64.
  const quoted = encodeQuotedPrintable(bytes, base64LinesSize(base64Characters(bytes.length)));
  if (quoted !== undefined) return { encoding: "quoted-printable", content: quoted };
  return { encoding: "base64", content: { base64: Buffer.from(toCrlf(text)).toString("base64") } };
}

/** No choice above takes more octets than this. */
export function textBodySizeAtMost(text: string): number {
  let lineEnds = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lineEnds++;
  return base64LinesSize(base64Characters(Buffer.byteLength(text) + lineEnds));
}

/** Fit for the wire as it stands, up to its line ends: printable ASCII in short lines of harmless shapes. */
function isSendable(text: string): boolean {
  if (/[^\t\n\r -~]|\r(?!\n)/.test(text)) return false;
  for (let from = 0; from < text.length; ) {
    const feed = text.indexOf("\n", from);
    const next = feed < 0 ? text.length : feed + 1;
    const to = feed < 0 ? text.length : text[feed - 1] === "\r" ? feed - 1 : feed;
    if (!isSendableLine(text, from, to)) return false;
    from = next;
  }
  return true;
}

// RFC 5322 §2.1.1 wishes for 78 characters. Then the shapes that some hops and mailboxes change: white space at the
// end, a dot or "From " at the start. And no line may pass for one of our boundaries, which start with "--=".
function isSendableLine(text: string, from: number, to: number): boolean {
  if (to <= from) return true;
  const last = text[to - 1];
  if (to - from > 78 || last === " " || last === "\t") return false;
  return !(text[from] === "." || text.startsWith("From ", from) || text.startsWith("--=", from));
}

function toCrlf(text: string): string {
  return text.includes("\n") ? text.replace(/\r?\n/g, "\r\n") : text;
}

function base64Characters(octets: number): number {
  return Math.ceil(octets / 3) * 4;
}
