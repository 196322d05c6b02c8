/** Writes a submitted message in 7 bits with lines that every mail server accepts: parts with other octets or with long lines become
 * quoted-printable or base64. A part in multipart/signed stays as it is, because its signature covers its octets. Called by prepare.ts. */
import { isAscii as isAsciiBytes, isUtf8 } from "node:buffer";
import { decodeBody } from "../message/body.ts";
import { maxNesting } from "../message/limits.ts";
import { type Leaf, type Multipart, ShapeProblem, structureOf } from "../message/structure.ts";
import { base64LinesSize, writeBase64Lines } from "../mime/base64.ts";
import { encodeQuotedPrintable } from "../mime/quoted-printable.ts";
import { asciiField, maxLineOctets, SubmittedProblem, splitMessage } from "./fields.ts";

export type SevenBit = {
  message: Buffer;
  /** Octets above 127 are left, in parts that must not be changed. */
  eightBit: boolean;
};

/** Whether a mail server might change or refuse these octets. */
export function needsEncoding(bytes: Buffer): boolean {
  return !isAsciiBytes(bytes) || hasLongLine(bytes);
}

/** The root's header is already ASCII, except for what concerns its body: prepare.ts has written it. */
export function toSevenBit(raw: Buffer, depth = 0): SevenBit {
  if (!needsEncoding(raw)) return { message: raw, eightBit: false };
  const { leaves, multiparts } = structure(raw);
  const entities = [...leaves, ...multiparts].sort((a, b) => a.headerStart - b.headerStart);
  const pieces: (Buffer | Multipart)[] = [];
  let eightBit = false;
  let at = 0;
  for (const entity of entities) {
    const end = isLeaf(entity) ? entity.end : entity.start;
    if (entity.isSigned) {
      pieces.push(raw.subarray(at, end));
      eightBit ||= !isAsciiBytes(raw.subarray(at, end));
    } else {
      pieces.push(between(raw, at, entity.headerStart));
      if (isLeaf(entity)) {
        const written = leafOf(raw, entity, depth);
        pieces.push(...written.pieces);
        eightBit ||= written.eightBit;
      } else pieces.push(entity);
    }
    at = end;
  }
  pieces.push(between(raw, at, raw.length));
  const written = pieces.map((piece) => (Buffer.isBuffer(piece) ? piece : multipartOf(raw, piece, eightBit)));
  return { message: Buffer.concat(written), eightBit };
}

function structure(raw: Buffer): ReturnType<typeof structureOf> {
  try {
    const found = structureOf(raw);
    for (const { header } of found.multiparts) {
      if (!header.boundary)
        throw new SubmittedProblem("a multipart has no boundary: write its Content-Type with a boundary parameter");
      if (!isAsciiBytes(header.boundary)) throw new SubmittedProblem("the boundary of a multipart must be ASCII");
    }
    return found;
  } catch (error) {
    if (error instanceof ShapeProblem) throw new SubmittedProblem(error.message);
    throw error;
  }
}

function isLeaf(entity: Leaf | Multipart): entity is Leaf {
  return "end" in entity;
}

/** The header of a part with parts. Its transfer encoding is that of its parts (RFC 2045 §6.4). */
function multipartOf(raw: Buffer, multipart: Multipart, eightBit: boolean): Buffer {
  return headerOf(raw, multipart, multipart.header.multipart === "signed" ? undefined : bits(eightBit));
}

function bits(eightBit: boolean): string {
  return eightBit ? "8bit" : "7bit";
}

type Written = { pieces: Buffer[]; eightBit: boolean };

function leafOf(raw: Buffer, leaf: Leaf, depth: number): Written {
  const body = raw.subarray(leaf.start, leaf.end);
  const { type } = leaf.header;
  if (!needsEncoding(body)) return { pieces: [headerOf(raw, leaf, undefined), body], eightBit: false };
  if (type === "message/rfc822" || type === "message/global") return messageOf(raw, leaf, depth);
  // RFC 2046 §5.2: other message types must not be encoded.
  if (type.startsWith("message/")) return unchanged(raw, leaf, body);
  // RFC 2046 §5.1.1: the line end before a boundary belongs to the boundary.
  const isBeforeBoundary = leaf.end < raw.length;
  const own = isBeforeBoundary && endsWithLine(body) ? body.subarray(0, -crlf.length) : body;
  const { encoding, content } = encode(contentOf(leaf, own), type);
  const end = isBeforeBoundary && !endsWithLine(content) ? [crlf] : [];
  return { pieces: [headerOf(raw, leaf, encoding, body), content, ...end], eightBit: false };
}

/** RFC 2046 §5.2.1: a message in a part is not encoded as a whole, but its parts are. */
function messageOf(raw: Buffer, leaf: Leaf, depth: number): Written {
  if (depth >= maxNesting) throw new SubmittedProblem(`messages are nested more than ${maxNesting} levels deep`);
  const inner = raw.subarray(leaf.start, leaf.end);
  const ascii = withAsciiHeader(inner);
  if (!ascii) return unchanged(raw, leaf, inner);
  const { message, eightBit } = toSevenBit(ascii, depth + 1);
  return { pieces: [headerOf(raw, leaf, bits(eightBit)), message], eightBit };
}

/** Undefined: the header is broken. Mail that was received may be, and the program that attaches it cannot change it. */
function withAsciiHeader(inner: Buffer): Buffer | undefined {
  try {
    const { fields, body } = splitMessage(inner);
    return Buffer.concat([Buffer.from(`${fields.map(asciiField).join("")}\r\n`, "latin1"), body]);
  } catch (error) {
    if (error instanceof SubmittedProblem) return undefined;
    throw error;
  }
}

function unchanged(raw: Buffer, leaf: Leaf, body: Buffer): Written {
  return { pieces: [headerOf(raw, leaf, undefined), body], eightBit: !isAsciiBytes(body) };
}

/** The octets of the part without their transfer encoding. A wrong one, such as base64 with 8-bit octets, is decoded as far as possible. */
function contentOf({ header }: Leaf, body: Buffer): Buffer {
  return header.encoding === "identity" ? body : decodeBody(body, header.encoding);
}

/** Quoted-printable keeps texts readable, and changes line ends, so that other content becomes base64. */
function encode(content: Buffer, type: string): { encoding: "quoted-printable" | "base64"; content: Buffer } {
  const characters = Math.ceil(content.length / 3) * 4;
  const size = base64LinesSize(characters);
  const isText = type === "" || type.startsWith("text/");
  const quoted = isText ? encodeQuotedPrintable(content, size) : undefined;
  if (quoted) return { encoding: "quoted-printable", content: quoted };
  const out = Buffer.allocUnsafe(size);
  writeBase64Lines(content.toString("base64"), out, 0);
  return { encoding: "base64", content: out };
}

/** The part's header in ASCII. With `encoding`, the field Content-Transfer-Encoding says so; `body` decides the charset of a text without one. */
function headerOf(raw: Buffer, { headerStart, start }: Multipart, encoding: string | undefined, body?: Buffer): Buffer {
  const { fields } = splitMessage(raw.subarray(headerStart, start));
  const kept = encoding === undefined ? fields : fields.filter(({ key }) => key !== transferEncoding.toLowerCase());
  const text = kept.map((field) => (body ? withCharset(asciiField(field), body) : asciiField(field))).join("");
  const hasType = fields.some(({ key }) => key === "content-type");
  const type = body && !hasType ? `Content-Type: text/plain; charset=${charsetOf(body)}\r\n` : "";
  const field = encoding === undefined ? "" : `${transferEncoding}: ${encoding}\r\n`;
  return Buffer.from(`${text}${type}${field}\r\n`, "latin1");
}

const transferEncoding = "Content-Transfer-Encoding";

/** Some programs, such as swaks, do not name the charset of their text. Receivers would read it as US-ASCII (RFC 2046 §4.1.2). */
function withCharset(field: string, body: Buffer): string {
  const isUnnamed = /^content-type[ \t]*:\s*text\//i.test(field) && !/charset/i.test(field);
  if (!isUnnamed || isAsciiBytes(body) || !isUtf8(body)) return field;
  return `${field.trimEnd().replace(/;$/, "")}; charset=utf-8\r\n`;
}

/** RFC 1428 §3: the charset of 8-bit text that is not labeled and not UTF-8. */
function charsetOf(body: Buffer): string {
  return isUtf8(body) ? "utf-8" : "unknown-8bit";
}

/** Boundary lines, and text that no mail program shows: before the first part and after the last one. */
function between(raw: Buffer, from: number, to: number): Buffer {
  const bytes = raw.subarray(from, to);
  if (!needsEncoding(bytes)) return bytes;
  const text = bytes.toString("latin1").replace(/[^\x00-\x7f]/g, "?");
  return Buffer.from(text.replace(longLine, "$&\r\n"), "latin1");
}

const longLine = new RegExp(`[^\\r\\n]{${maxLineOctets}}(?=[^\\r\\n])`, "g");

function hasLongLine(bytes: Buffer): boolean {
  let from = 0;
  while (bytes.length - from > maxLineOctets + 2) {
    // The last line end within the limit: most lines are short, so this skips several of them at once.
    const end = bytes.subarray(from, from + maxLineOctets + 2).lastIndexOf(LF);
    if (end < 0) return true;
    from += end + 1;
  }
  return false;
}

function endsWithLine(bytes: Buffer): boolean {
  return bytes.length > 0 && bytes[bytes.length - 1] === LF;
}

const LF = 0x0a;
const crlf = Buffer.from("\r\n");
