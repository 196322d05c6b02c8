/** Parses a received message with postal-mime, within limits, into plain data. Called by digest.ts and inbound/open.ts. */
import PostalMime, { type Address, type Attachment, type Email } from "postal-mime";
import { parseMessageIds } from "../message-id.ts";
import { maxHeaderBytes, maxNesting, maxParts } from "./limits.ts";

export type Field = { name: string; value: string };

export type Part = {
  /** The part's number among the non-text parts, starting at 1. */
  id: string;
  filename: string;
  contentType: string;
  /** Without angle brackets; empty if the part has none. */
  contentId: string;
  content: Buffer;
};

export type ReadMessage = {
  fields: Field[];
  from: { name: string; address: string };
  to: string[];
  subject: string;
  messageId: string;
  inReplyTo: string[];
  references: string[];
  text: string;
  html: string;
  parts: Part[];
};

/** Throws if the message is nested too deeply or its parts have too many headers. */
export async function readMessage(raw: Uint8Array): Promise<ReadMessage> {
  const email = await PostalMime.parse(raw, {
    forceRfc822Attachments: true,
    maxNestingDepth: maxNesting,
    maxHeadersSize: maxHeaderBytes + maxParts * 2048,
  });
  return {
    fields: email.headers.map(({ key, value }) => ({ name: key, value: storable(value) })),
    from: mailboxOf(email.from),
    to: mailboxes(email.to),
    subject: storable(email.subject ?? "").replace(/\s+/g, " "),
    messageId: firstId(email, "message-id"),
    inReplyTo: ids(email, "in-reply-to"),
    references: ids(email, "references"),
    text: storable(email.text ?? "").replaceAll("\r\n", "\n"),
    html: storable(email.html ?? ""),
    parts: email.attachments.map(partOf),
  };
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

function partOf(attachment: Attachment, index: number): Part {
  const { content } = attachment;
  return {
    id: String(index + 1),
    filename: oneLine(attachment.filename ?? "").slice(0, 255),
    contentType: oneLine(attachment.mimeType || "application/octet-stream").slice(0, 255),
    contentId: oneLine(attachment.contentId ?? "")
      .replace(/^<|>$/g, "")
      .slice(0, 255),
    content:
      typeof content === "string"
        ? Buffer.from(content)
        : content instanceof Uint8Array
          ? Buffer.from(content.buffer, content.byteOffset, content.byteLength)
          : Buffer.from(content),
  };
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

function ids(email: Email, name: string): string[] {
  return email.headers.filter(({ key }) => key === name).flatMap(({ value }) => parseMessageIds(value));
}

/** RFC 5322 §3.6.4 requires angle brackets, but a few senders omit them. */
function firstId(email: Email, name: string): string {
  const value = email.headers.find(({ key }) => key === name)?.value.trim() ?? "";
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
