/**
 * The parts of an email's content. A small part is a text: part 0 is the JSON of the texts, or the submitted message with one character for each
 * octet; part n is the base64 of attachment n. A large part is the octets of the same: the JSON in UTF-8, the message, or the decoded attachment.
 * accept.ts makes them, pieces.ts stores them, content.ts reads them.
 */
import type { Sql } from "../../postgres/pool.ts";
import { isAlive } from "../../postgres/workers.ts";

/** Parts with more octets than this are large. */
export const largeFromBytes = 64 * 1024;

export type NewPart = string | { bytes: Buffer };

/** `read` returns the octets in pieces of at most 256 KiB, and begins at the first one at each call. The memory of a piece belongs to the caller,
 * who may free it or hand it to a thread. No connection of the pool is held between two pieces. It throws ContentGone when the content was deleted, and an AbortError when the signal aborts. */
export type LargePart = { bytes: number; read(signal?: AbortSignal): AsyncIterable<Buffer> };

export type StoredPart = string | LargePart;

/** `isSubmitted`: part 0 is a message, not JSON. It matters only for large messages that earlier releases stored as text. */
export type ContentKey = { workspaceId: string; emailId: string; day: string; isSubmitted?: boolean };

/** The content was deleted while it was read. */
export class ContentGone extends Error {
  override readonly name = "ContentGone";
  constructor() {
    super("the content of the email was deleted while it was read");
  }
}

/** Part 0 of an email with texts. */
export function textsPart(texts: { text: string; html: string }): NewPart {
  const json = JSON.stringify(texts);
  // No character has more than three octets in UTF-8 per unit of its length, and most texts are short.
  if (json.length * 3 <= largeFromBytes) return json;
  const bytes = Buffer.from(json);
  return bytes.length > largeFromBytes ? { bytes } : json;
}

/** Part 0 of a submitted message. */
export function messagePart(message: Buffer): NewPart {
  return message.length > largeFromBytes ? { bytes: message } : message.toString("latin1");
}

export function attachmentPart(attachment: { base64: string | { file: Buffer }; sizeBytes: number }): NewPart {
  const { base64, sizeBytes } = attachment;
  if (typeof base64 !== "string")
    return sizeBytes > largeFromBytes ? { bytes: base64.file } : base64.file.toString("base64");
  return sizeBytes > largeFromBytes ? { bytes: Buffer.from(base64, "base64") } : base64;
}

/** What a part takes in a statement. */
export function partLength(part: NewPart): number {
  return typeof part === "string" ? part.length : part.bytes.length;
}

/** For tests and small readers: the part in memory as a whole. */
export async function wholePart(part: LargePart, signal?: AbortSignal): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(part.bytes);
  let at = 0;
  for await (const piece of part.read(signal)) at += piece.copy(bytes, at);
  if (at !== bytes.length) throw new Error(`a part of ${bytes.length} octets was read as ${at} octets`);
  return bytes;
}

/** Part 0 as text: the JSON of the texts. */
export async function textOfPart(part: StoredPart, signal?: AbortSignal): Promise<string> {
  return typeof part === "string" ? part : (await wholePart(part, signal)).toString();
}

/** The version of the schema, and so of the program, that reads large parts. */
export const largePartsSince = 49;
/** Programs start rarely, and a program that starts meanwhile only tries such an email again later. */
const askAgainAfterMs = 5_000;

type Parts = { parts: NewPart[]; envelope: { submitted?: unknown } };
export type PrepareParts = <E extends Parts>(email: E) => Promise<E>;

/** Returns a function that gives the parts of an email the form in which they are stored. Every email passes through it before its commit. */
export function createPartPreparer(sql: Sql): PrepareParts {
  let asked: { atMs: number; hasOlder: Promise<boolean> } | undefined;
  const hasOlder = () => {
    const nowMs = performance.now();
    if (asked && nowMs - asked.atMs < askAgainAfterMs) return asked.hasOlder;
    const asking = { atMs: nowMs, hasOlder: hasOlderReaders(sql) };
    asked = asking;
    asking.hasOlder.catch(() => {
      if (asked === asking) asked = undefined;
    });
    return asking.hasOlder;
  };
  return async (email) => {
    if (email.parts.every((part) => typeof part === "string") || !(await hasOlder())) return email;
    const isSubmitted = email.envelope.submitted !== undefined;
    return { ...email, parts: email.parts.map((part, index) => asText(part, { index, isSubmitted })) };
  };
}

/** Whether a live program is older. It could not send an email with large parts until it is replaced. */
async function hasOlderReaders(sql: Sql): Promise<boolean> {
  const rows = await sql`
    select 1 from workers where coalesce(schema_version, 1) < ${largePartsSince} and ${isAlive(sql)} limit 1`;
  return rows.length > 0;
}

/** The form of a part that every release reads. */
function asText(part: NewPart, { index, isSubmitted }: { index: number; isSubmitted: boolean }): string {
  if (typeof part === "string") return part;
  return part.bytes.toString(index > 0 ? "base64" : isSubmitted ? "latin1" : "utf8");
}
