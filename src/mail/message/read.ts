/** Parses a received message into plain data, in time and memory that depend on its octets only. Called by digest.ts and inbound/. */
import { type Address, addressParser, decodeWords } from "postal-mime";
import { parseMessageIds } from "../message-id.ts";
import { type BodyEncoding, decodeBody, decodedBytes } from "./body.ts";
import type { Header, PartHeader } from "./part-header.ts";
import { isText, type Leaf, structureOf } from "./structure.ts";
import { collectTexts } from "./texts.ts";

export type Field = { name: string; value: string };

export type ReadPart = {
  /** The part's number among the non-text parts, starting at 1. */
  id: string;
  filename: string;
  contentType: string;
  /** Without angle brackets; empty if the part has none. */
  contentId: string;
  sizeBytes: number;
  /** Where its body is in the message; undefined if decoding it needs more than the transfer encoding. */
  position: BodyPosition | undefined;
  /** Decoded at each access, so that only the parts that are needed take memory. */
  readonly content: Buffer;
};

export type BodyPosition = { start: number; end: number; encoding: BodyEncoding };

export type ReadMessage = {
  fields: Field[];
  from: { name: string; address: string };
  /** The first address of Reply-To; empty if there is none. */
  replyTo: { name: string; address: string };
  to: string[];
  subject: string;
  messageId: string;
  inReplyTo: string[];
  references: string[];
  text: string;
  html: string;
  parts: ReadPart[];
};

/** Throws a ShapeProblem if the message exceeds a limit on parts or lines. */
export function readMessage(raw: Uint8Array, maxLines?: number): ReadMessage {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const { header, leaves, lines } = structureOf(bytes, maxLines);
  const { headers } = header;
  const { text, html } = collectTexts(bytes, leaves, lines);
  return {
    fields: headers.map(({ key, value }) => ({ name: key, value: storable(value) })),
    from: mailboxOf(addressParser(fieldValue(headers, "from"))[0]),
    replyTo: mailboxOf(addressParser(fieldValue(headers, "reply-to"))[0]),
    to: mailboxes(headers.filter(({ key }) => key === "to").flatMap(({ value }) => addressParser(value))),
    subject: storable(decodeWords(fieldValue(headers, "subject"))).replace(/\s+/g, " "),
    messageId: firstId(headers, "message-id"),
    inReplyTo: ids(headers, "in-reply-to"),
    references: ids(headers, "references"),
    text: storable(text).replaceAll("\r\n", "\n"),
    html: storable(html),
    parts: attachedParts(bytes, leaves),
  };
}

/** The parts of the message that are not its text. Throws a ShapeProblem like readMessage. */
export function readAttachedParts(raw: Buffer): ReadPart[] {
  return attachedParts(raw, structureOf(raw).leaves);
}

function attachedParts(raw: Buffer, leaves: readonly Leaf[]): ReadPart[] {
  return leaves.filter((leaf) => !isText(leaf.header)).map((leaf, index) => partOf(raw, leaf, index));
}

export function fieldOf(fields: readonly Field[], name: string): string {
  return fields.find((field) => field.name === name)?.value.trim() ?? "";
}

/** Formats a mailbox as `Name <a@b>`, with quotes around the name only where it needs them. */
export function displayAddress({ name, address }: { name: string; address: string }): string {
  if (name === "" || name === address) return address;
  const plain = /^[\p{L}\p{N} !#$%&'*+\-/=?^_`{|}~]+$/u.test(name);
  return `${plain ? name : `"${name.replace(/["\\]/g, "\\$&")}"`} <${address}>`;
}

function partOf(raw: Buffer, { header, start, end }: Leaf, index: number): ReadPart {
  const body = raw.subarray(start, end);
  const isCalendar = calendarTypes.has(header.type);
  const read = () => (isCalendar ? calendarOf(header, body) : decodeBody(body, header.encoding));
  return {
    id: String(index + 1),
    filename: oneLine(header.filename).slice(0, 255),
    contentType: oneLine(header.type || "application/octet-stream").slice(0, 255),
    contentId: oneLine(header.contentId).replace(/^<|>$/g, "").slice(0, 255),
    sizeBytes: isCalendar ? read().length : decodedBytes(body, header.encoding),
    position: isCalendar ? undefined : { start, end, encoding: header.encoding },
    get content() {
      return read();
    },
  };
}

const calendarTypes = new Set(["text/calendar", "application/ics"]);

/** An invitation becomes UTF-8 with LF line ends and exactly one at the end, so that programs that import it need no charset. */
function calendarOf(header: PartHeader, body: Buffer): Buffer {
  const text = Buffer.from(header.textOf(decodeBody(body, header.encoding)));
  const content = decodeBody(text, "identity");
  let end = content.length;
  while (end > 0 && content[end - 1] === 0x0a) end -= 1;
  return Buffer.concat([content.subarray(0, end), Buffer.from("\n")]);
}

function mailboxOf(address: Address | undefined): { name: string; address: string } {
  const mailbox = address?.group ? address.group[0] : address;
  return {
    name: oneLine(mailbox?.name ?? "").slice(0, 256),
    address: oneLine(mailbox?.address ?? "").slice(0, 320),
  };
}

function mailboxes(addresses: readonly Address[] | undefined): string[] {
  return (addresses ?? [])
    .flatMap((address) => (address.group ? address.group : [address]))
    .map(({ address }) => oneLine(address ?? ""))
    .filter((address) => address !== "")
    .slice(0, 100);
}

function fieldValue(headers: readonly Header[], name: string): string {
  return headers.find(({ key }) => key === name)?.value ?? "";
}

function ids(headers: readonly Header[], name: string): string[] {
  return headers.filter(({ key }) => key === name).flatMap(({ value }) => parseMessageIds(value));
}

/** RFC 5322 §3.6.4 requires angle brackets, but a few senders omit them. */
function firstId(headers: readonly Header[], name: string): string {
  const value = fieldValue(headers, name).trim();
  const [id] = parseMessageIds(value);
  if (id) return id;
  return /^[!-;=?-~]{1,898}$/.test(value) ? `<${value}>` : "";
}

function oneLine(text: string): string {
  return storable(text)
    .replace(/\p{Cc}+/gu, " ")
    .trim();
}

/** PostgreSQL cannot store NUL, and JSON cannot represent unpaired surrogates. */
function storable(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}
