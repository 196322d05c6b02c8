/** Attachments as callers have them, a buffer, a Blob or base64, made into attachments as the wire has them. */
import { toBase64 } from "./base64.ts";
import { badArgument } from "./error.ts";
import type { Attachment } from "./gen/email.ts";

export interface AttachmentInput {
  /** The content: bytes (a Buffer is one kind), a Blob or File, or a string that is already base64. */
  content: Uint8Array | ArrayBuffer | Blob | string;
  /** Name of the file as the reader sees it. May be left out for a File, which has one. */
  filename?: string;
  /** MIME type. Default: the type of the Blob, else `application/octet-stream`. */
  contentType?: string;
  /** Content id of an inline image: with `logo` here, the HTML shows it by `<img src="cid:logo">`. */
  contentId?: string;
}

export async function toAttachment(input: AttachmentInput, index: number): Promise<Attachment> {
  const field = `attachments[${index}]`;
  const { content } = input;
  const ofFile: { name?: string; type?: string } = content instanceof Blob ? content : {};
  const filename = input.filename ?? ofFile.name;
  if (filename === undefined) throw badArgument(`${field}.filename`, "is required: the name that the reader sees");
  return {
    filename,
    base64Content: await encode(content, `${field}.content`),
    contentType: input.contentType ?? (ofFile.type || undefined),
    contentId: input.contentId,
  };
}

async function encode(content: AttachmentInput["content"], field: string): Promise<string> {
  if (typeof content === "string") return content;
  if (content instanceof Blob) return toBase64(new Uint8Array(await content.arrayBuffer()));
  if (content instanceof ArrayBuffer) return toBase64(new Uint8Array(content));
  if (ArrayBuffer.isView(content)) return toBase64(content);
  throw badArgument(field, "must be a Buffer, a Uint8Array, an ArrayBuffer, a Blob or a base64 string");
}
