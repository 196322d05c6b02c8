/** Converts attachments from bytes, Blobs, base64, streams, files or URLs to the format of the API. email-request.ts calls it. */
import { isStream, type Loaded, readFile, readStream, readUrl } from "./attachment-source.ts";
import { toBase64 } from "./base64.ts";
import { checkObject, checkString, nameOf } from "./check.ts";
import { badArgument, PosthornError, reasonOf } from "./error.ts";
import type { Attachment } from "./gen/email.ts";
import { mediaTypeOf } from "./media-types.ts";
import type { Blob, ReadableStream, URL } from "./platform.ts";
import type { Reading } from "./reading.ts";

interface AttachmentLabel {
  /** File name that the recipient sees. Default: the name of the File, or the last part of the path or URL. */
  filename?: string;
  /** MIME type. Default: the type of the Blob or of the web server's response, else by the end of the file name. */
  contentType?: string;
  /** Content id of an inline image: with `logo` here, the HTML shows it with `<img src="cid:logo">`. */
  contentId?: string;
}

export interface AttachmentInput extends AttachmentLabel {
  /** The content: bytes such as a Buffer, a Blob or File, a base64 string, or a stream of Node or the web. */
  content: Uint8Array | ArrayBuffer | Blob | string | ReadableStream | AsyncIterable<Uint8Array | string>;
}

export interface AttachmentFile extends AttachmentLabel {
  /** The path or file URL of a local file. Never pass a path that a stranger supplies. */
  path: string | URL;
}

export interface AttachmentUrl extends AttachmentLabel {
  /** An http, https or data URL. This process downloads it: never pass a URL that a stranger supplies. */
  url: string | URL;
}

/** A file to attach, by its content, its path or its URL. */
export type AnyAttachment = AttachmentInput | AttachmentFile | AttachmentUrl;

export async function toAttachment(input: AnyAttachment, field: string, reading: Reading): Promise<Attachment> {
  checkObject(input, field, "must be an object, such as { filename, content } or { path }");
  rejectOtherNames(input, field);
  for (const name of ["filename", "contentType", "contentId"] as const)
    if (input[name] !== undefined && input[name] !== null) checkString(input[name], `${field}.${name}`);
  const { base64, ...found } = await load(input, field, reading);
  const filename = input.filename ?? found.filename;
  if (!filename) throw badArgument(`${field}.filename`, "is required: it is the name that the recipient sees");
  return {
    filename,
    base64Content: base64,
    contentType: input.contentType ?? found.contentType ?? mediaTypeOf(filename),
    contentId: input.contentId ?? undefined,
  };
}

type Encoded = Omit<Loaded, "bytes"> & { base64: string };

async function load(input: AnyAttachment, field: string, reading: Reading): Promise<Encoded> {
  const { content, path, url } = input as Partial<AttachmentInput & AttachmentFile & AttachmentUrl>;
  const given = Object.entries({ content, path, url }).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) throw badArgument(`${field}.content`, "is required: pass content, path or url");
  if (given.length > 1) throw badArgument(`${field}.${given[1]![0]}`, `cannot be combined with ${given[0]![0]}`);
  const [kind] = given[0]!;
  if (kind === "path") return encode(await readFile(path!, `${field}.path`, reading), field);
  if (kind === "url") return encode(await readUrl(url!, `${field}.url`, reading), field);
  return await readContent(content, `${field}.content`, reading);
}

function encode({ bytes, ...rest }: Loaded, field: string): Encoded {
  try {
    return { ...rest, base64: toBase64(bytes) };
  } catch (error) {
    // A string has a maximum length, 512 MiB in Node.
    throw badArgument(field, `is too large (${bytes.length} bytes): ${reasonOf(error)}. Send a link to the file`);
  }
}

async function readContent(content: unknown, field: string, reading: Reading): Promise<Encoded> {
  if (typeof content === "string") return { base64: content };
  if (content instanceof ArrayBuffer) return encode({ bytes: new Uint8Array(content) }, field);
  if (ArrayBuffer.isView(content))
    return encode({ bytes: new Uint8Array(content.buffer, content.byteOffset, content.byteLength) }, field);
  if (typeof content !== "object" || content === null) throw wrongContent(content, field);
  if (isBlob(content)) {
    const { name, type } = content as { name?: string; type?: string };
    return {
      ...encode({ bytes: await readBlob(content, field, reading) }, field),
      filename: name,
      contentType: type || undefined,
    };
  }
  if (isStream(content)) return encode({ bytes: await readStream(content, field, reading) }, field);
  if (typeof (content as { then?: unknown }).then === "function")
    throw badArgument(field, "is a Promise: await it first");
  throw wrongContent(content, field);
}

function wrongContent(content: unknown, field: string): PosthornError {
  const kinds = "a Buffer, a Uint8Array, an ArrayBuffer, a Blob, a stream or a base64 string";
  return badArgument(field, `must be ${kinds}, not ${nameOf(content)}`);
}

/** Recognized by its methods, because a library may have its own Blob class. */
function isBlob(content: object): content is Blob {
  const { arrayBuffer, size } = content as { arrayBuffer?: unknown; size?: unknown };
  return typeof arrayBuffer === "function" && typeof size === "number";
}

async function readBlob(blob: Blob, field: string, reading: Reading): Promise<Uint8Array> {
  try {
    return new Uint8Array(await reading.race(blob.arrayBuffer()));
  } catch (cause) {
    if (cause instanceof PosthornError) throw cause;
    throw badArgument(field, `cannot be read: ${reasonOf(cause)}`);
  }
}

/** Field names from other email libraries, with the name here. */
const fieldsByOtherName: Record<string, keyof (AttachmentInput & AttachmentUrl)> = {
  base64Content: "content",
  cid: "contentId",
  content_id: "contentId",
  content_type: "contentType",
  data: "content",
  href: "url",
  mimeType: "contentType",
};

/** A field with another library's name would have no effect: an inline image would not be shown, a type would be lost. */
function rejectOtherNames(input: object, field: string): void {
  for (const [wrong, right] of Object.entries(fieldsByOtherName)) {
    if (wrong in input && !(right in input))
      throw badArgument(`${field}.${wrong}`, `is not a field of an attachment: use ${right} instead`);
  }
}
