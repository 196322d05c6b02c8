/**
 * The parts of an email's content. A small part is a text: part 0 is the JSON of the texts, or the submitted message with one character for each
 * octet; part n is the base64 of attachment n. A large part is the octets of the same: the JSON in UTF-8, the message, or the decoded attachment.
 * accept.ts makes them, pieces.ts stores them, content.ts reads them.
 */
import type { ContentStore } from "../../objects/content-store.ts";
import { type NewObject, noteUnused, type ObjectRef } from "../../objects/store/objects.ts";
import type { ObjectLost } from "../../objects/store-error.ts";
import { createUploads } from "../../objects/upload.ts";
import type { Sql } from "../../postgres/pool.ts";
import { createOlderReaders, objectsSince } from "./older-readers.ts";

/** Parts with more octets than this are large. */
export const largeFromBytes = 64 * 1024;

/** `object`: a large part that is in object storage already. Its octets are still in memory, for the first attempt. */
export type NewPart = string | { bytes: Buffer } | { object: ObjectRef; octets?: Buffer };

/** `read` returns the octets in pieces of at most 256 KiB, and begins at the first one at each call. The memory of a piece belongs to the caller,
 * who may free it or hand it to a thread. No connection of the pool is held between two pieces. It throws ContentGone when the content was deleted or lost, and an AbortError when the signal aborts. */
export type LargePart = { bytes: number; read(signal?: AbortSignal): AsyncIterable<Buffer> };

export type StoredPart = string | LargePart;

/** `isSubmitted`: part 0 is a message, not JSON. It matters only for large messages that earlier releases stored as text. */
export type ContentKey = { workspaceId: string; emailId: string; day: string; isSubmitted?: boolean };

/** The content cannot be read, now or later. The message says why, as a sentence for the sender. */
export class ContentGone extends Error {
  override readonly name = "ContentGone";
  /** Undefined: the content was deleted. */
  readonly lost: ObjectLost | undefined;
  constructor(lost?: ObjectLost) {
    const deleted = "The content of this email was deleted because its retention period has passed.";
    super(lost ? `The content of this email is lost: ${lost.message}.` : deleted, { cause: lost });
    this.lost = lost;
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
  if (typeof part === "string") return part.length;
  return "bytes" in part ? part.bytes.length : 1;
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
type Parts = { workspaceId: string; parts: NewPart[]; envelope: { submitted?: unknown } };
/** `isRefused` is asked before an upload. A refused email keeps its parts, and the statement that stores emails says why. */
export type PrepareParts = <E extends Parts>(email: E, isRefused: () => Promise<boolean>) => Promise<E>;

/**
 * Returns a function that gives the parts of an email the form in which they are stored, and uploads those that belong in object storage.
 * Every email passes through it before its commit.
 */
export function createPartPreparer(sql: Sql, contents?: ContentStore): PrepareParts {
  const hasOlder = createOlderReaders(sql, contents ? objectsSince : largePartsSince);
  return async (email, isRefused) => {
    if (email.parts.every((part) => typeof part === "string")) return email;
    if (!(await hasOlder())) {
      if (!contents || !email.parts.some((part) => isUploaded(part, contents)) || (await isRefused())) return email;
      return { ...email, parts: await upload(sql, contents, email) };
    }
    const isSubmitted = email.envelope.submitted !== undefined;
    return { ...email, parts: email.parts.map((part, index) => asText(part, { index, isSubmitted })) };
  };
}

/** The form of a part that every release reads. */
function asText(part: NewPart, { index, isSubmitted }: { index: number; isSubmitted: boolean }): string {
  if (typeof part === "string") return part;
  if (!("bytes" in part)) throw new Error("the part is in object storage already");
  return part.bytes.toString(index > 0 ? "base64" : isSubmitted ? "latin1" : "utf8");
}

function isUploaded(part: NewPart, { aboveBytes }: ContentStore): part is { bytes: Buffer } {
  return typeof part !== "string" && "bytes" in part && part.bytes.length > aboveBytes;
}

/** One part after the other, so that an email takes one place of its workspace's share. */
async function upload(sql: Sql, contents: ContentStore, { workspaceId, parts }: Parts): Promise<NewPart[]> {
  const put = createUploads(contents, workspaceId);
  const done: NewPart[] = [];
  try {
    for (const part of parts) {
      done.push(isUploaded(part, contents) ? { object: await put(part.bytes), octets: part.bytes } : part);
    }
    return done;
  } catch (error) {
    await noteUnused(sql, objectsOf(done)).catch(() => {});
    throw error;
  }
}

export function objectsOf(parts: readonly NewPart[]): ObjectRef[] {
  return parts.flatMap((part) => (typeof part !== "string" && "object" in part ? [part.object] : []));
}

/** The rows of content_objects for a new email. */
export function newObjectsOf(email: { workspaceId: string; id: string; parts: readonly NewPart[] }): NewObject[] {
  const { workspaceId, id: ownerId } = email;
  return email.parts.flatMap((one, part) =>
    typeof one !== "string" && "object" in one ? [{ ...one.object, workspaceId, ownerId, part }] : [],
  );
}
