/** Decodes the body of a part, in one pass over its bytes. The work depends on the number of bytes only, not on the number of lines.
 * Called by read.ts, and by inbound/ for one attachment of a stored message. */

export type BodyEncoding = "base64" | "quoted-printable" | "identity";

const CR = 0x0d;
const LF = 0x0a;
const EQUALS = 0x3d;

/** Line ends become LF, except in base64. */
export function decodeBody(body: Buffer, encoding: BodyEncoding): Buffer {
  // The result is never longer than the body, except for the line end that is added to a last line without one.
  const out = Buffer.allocUnsafeSlow(body.length + 1);
  return out.subarray(0, decoders[encoding](body, out));
}

/** The length of the decoded body, without the memory for it. */
export function decodedBytes(body: Buffer, encoding: BodyEncoding): number {
  return decoders[encoding](body, undefined);
}

type Decoder = (body: Buffer, out: Buffer | undefined) => number;

const decoders: Record<BodyEncoding, Decoder> = {
  base64: decodeBase64,
  "quoted-printable": decodeQuotedPrintable,
  identity: decodeIdentity,
};

/** Values of the alphabet, and `skipped` for the rest. */
const skipped = 64;
const base64Values = new Uint8Array(256).fill(skipped);
for (const [value, character] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries())
  base64Values[character.charCodeAt(0)] = value;

/** A "=" ends a unit, because some programs pad every line. */
function decodeBase64(body: Buffer, out: Buffer | undefined): number {
  let at = 0;
  let bits = 0;
  let held = 0;
  const flush = () => {
    // One character alone has too few bits for an octet.
    if (held >= 2 && out) {
      const whole = bits << (6 * (4 - held));
      out[at] = whole >> 16;
      if (held === 3) out[at + 1] = whole >> 8;
    }
    if (held >= 2) at += held - 1;
    bits = 0;
    held = 0;
  };
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]!;
    const value = base64Values[byte]!;
    if (value === skipped) {
      if (byte === EQUALS) flush();
      continue;
    }
    bits = (bits << 6) | value;
    held += 1;
    if (held < 4) continue;
    if (out) {
      out[at] = bits >> 16;
      out[at + 1] = bits >> 8;
      out[at + 2] = bits;
    }
    at += 3;
    bits = 0;
    held = 0;
  }
  flush();
  return at;
}

function decodeQuotedPrintable(body: Buffer, out: Buffer | undefined): number {
  let at = 0;
  const put = (byte: number) => {
    if (out) out[at] = byte;
    at += 1;
  };
  for (let start = 0; start < body.length; ) {
    const lineEnd = endOfLine(body, start);
    let end = trimmedEnd(body, start, lineEnd);
    const isSoftBreak = end > start && body[end - 1] === EQUALS;
    if (isSoftBreak) end -= 1;
    for (let i = start; i < end; i++) {
      const byte = body[i]!;
      const high = byte === EQUALS && i + 2 < end ? hexValue(body[i + 1]!) : -1;
      const low = high < 0 ? -1 : hexValue(body[i + 2]!);
      if (low < 0) {
        put(byte);
        continue;
      }
      put((high << 4) | low);
      i += 2;
    }
    if (!isSoftBreak) put(LF);
    start = lineEnd;
  }
  return at;
}

function decodeIdentity(body: Buffer, out: Buffer | undefined): number {
  let at = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i]!;
    if (byte === CR && endsLine(body, i)) continue;
    if (out) out[at] = byte;
    at += 1;
  }
  if (body.length === 0 || body[body.length - 1] === LF) return at;
  if (out) out[at] = LF;
  return at + 1;
}

/** True for a CR before LF or before the end. SMTP lets no other CR through. */
function endsLine(body: Buffer, at: number): boolean {
  return at + 1 === body.length || body[at + 1] === LF;
}

/** The offset after the LF, or the length. */
function endOfLine(body: Buffer, from: number): number {
  let at = from;
  while (at < body.length) if (body[at++] === LF) return at;
  return at;
}

function trimmedEnd(body: Buffer, start: number, end: number): number {
  let at = end;
  while (at > start && (body[at - 1] === LF || body[at - 1] === CR)) at -= 1;
  return at;
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
