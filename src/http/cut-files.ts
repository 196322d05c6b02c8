/**
 * Takes large files out of a JSON request before it is parsed: the strings of `base64Content` are decoded from the octets of the body. As strings
 * of the text and of the parsed value, they would be in memory two more times. Used by read-json.ts; `fileOf` is for the handlers.
 */
import { randomBytes } from "node:crypto";
import { decodeBase64 } from "../mail/mime/base64.ts";

/** Shorter strings are not worth it. */
const minCharacters = 64 * 1024;
const key = Buffer.from('"base64Content"');
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/** The body without its files, each replaced by a name that the sender cannot know. */
export type CutBody = { rest: Buffer; files: Map<string, Buffer> };

const filesOfMessages = new WeakMap<object, Buffer>();

/** The content of an attachment in a request, if it was taken out of the JSON. Then `base64Content` is only its name. */
export function fileOf(attachment: object): Buffer | undefined {
  return filesOfMessages.get(attachment);
}

/** Undefined: there is nothing to take out. Content that is not plain base64 stays where it is, so that its error is reported as usual. */
export function cutFiles(bytes: Uint8Array): CutBody | undefined {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (body.length < minCharacters) return undefined;
  const files = new Map<string, Buffer>();
  const kept: Buffer[] = [];
  let from = 0;
  for (let at = body.indexOf(key); at >= 0; at = body.indexOf(key, at)) {
    const start = startOfValue(body, at);
    at += key.length;
    if (start === undefined) continue;
    const end = body.indexOf(quote, start);
    if (end < 0) break;
    at = end;
    const file = end - start < minCharacters ? undefined : decodeBase64(body.subarray(start, end));
    if (!file) continue;
    const name = `file-${randomBytes(16).toString("hex")}`;
    files.set(name, file);
    kept.push(body.subarray(from, start), Buffer.from(name));
    from = end;
  }
  if (files.size === 0) return undefined;
  return { rest: Buffer.concat([...kept, body.subarray(from)]), files };
}

/** False: not every file is the content of an attachment of the message. */
export function attachFiles(message: object, files: ReadonlyMap<string, Buffer>): boolean {
  const { emails = [message] } = message as { emails?: readonly object[] };
  const found = new Set<string>();
  for (const email of emails) {
    for (const attachment of (email as { attachments?: readonly { base64Content: string }[] }).attachments ?? []) {
      const file = files.get(attachment.base64Content);
      if (!file) continue;
      found.add(attachment.base64Content);
      filesOfMessages.set(attachment, file);
    }
  }
  return found.size === files.size;
}

/** Where the string behind this key begins. A quote without a backslash in front of it cannot be inside a string, so in valid JSON the key is one,
 * or a string that is no key and has no colon behind it. */
function startOfValue(body: Buffer, at: number): number | undefined {
  if (body[at - 1] === backslash) return undefined;
  let next = skipBlanks(body, at + key.length);
  if (body[next] !== colon) return undefined;
  next = skipBlanks(body, next + 1);
  return body[next] === quote ? next + 1 : undefined;
}

/** RFC 8259 §2: space, tab, line feed and carriage return. */
function skipBlanks(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x09 || body[at] === 0x0a || body[at] === 0x0d) at++;
  return at;
}
