/** Chooses the transfer encoding of a text body: 7bit, quoted-printable or base64. Called by compose.ts. */

import { base64Characters, base64LinesSize } from "./base64.ts";
import { encodeQuotedPrintable } from "./quoted-printable.ts";

export type TextBody = { encoding: "7bit" | "quoted-printable" | "base64"; content: Uint8Array | { base64: string } };

/** Line ends become CRLF. All other characters, including a lone CR, decode to the original text. */
export function encodeTextBody(text: string): TextBody {
  if (is7bitSafe(text)) return { encoding: "7bit", content: Buffer.from(toCrlf(text), "latin1") };
  const bytes = Buffer.from(text);
  // Quoted-printable keeps the source readable, but only if it is not longer than base64. Cyrillic and Japanese use base64.
  const quoted = encodeQuotedPrintable(bytes, base64LinesSize(base64Characters(bytes.length)));
  if (quoted !== undefined) return { encoding: "quoted-printable", content: quoted };
  return { encoding: "base64", content: { base64: Buffer.from(toCrlf(text)).toString("base64") } };
}

/** An upper bound of the octets that any encoding needs. */
export function textBodySizeAtMost(text: string): number {
  let lineEnds = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lineEnds++;
  return base64LinesSize(base64Characters(Buffer.byteLength(text) + lineEnds));
}

/** True if the text needs no encoding except for its line ends: printable ASCII in short lines that no mail server changes. */
function is7bitSafe(text: string): boolean {
  if (/[^\t\n\r -~]|\r(?!\n)/.test(text)) return false;
  for (let from = 0; from < text.length; ) {
    const feed = text.indexOf("\n", from);
    const next = feed < 0 ? text.length : feed + 1;
    const to = feed < 0 ? text.length : text[feed - 1] === "\r" ? feed - 1 : feed;
    if (!isSafeLine(text, from, to)) return false;
    from = next;
  }
  return true;
}

// RFC 5322 §2.1.1 recommends at most 78 characters. Some mail servers and mailbox formats change white space at the end of a line,
// or a dot or "From " at its start. A line that starts with "--=" could be mistaken for one of our boundaries.
function isSafeLine(text: string, from: number, to: number): boolean {
  if (to <= from) return true;
  const last = text[to - 1];
  if (to - from > 78 || last === " " || last === "\t") return false;
  return !(text[from] === "." || text.startsWith("From ", from) || text.startsWith("--=", from));
}

function toCrlf(text: string): string {
  return text.includes("\n") ? text.replace(/\r?\n/g, "\r\n") : text;
}
