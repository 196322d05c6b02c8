/** Converts attachments from buffers, Blobs or base64 to the format of the API. email-request.ts calls it. */
import { toBase64 } from "./base64.ts";
import { badArgument } from "./error.ts";
import type { Attachment } from "./gen/email.ts";
import type { Blob } from "./platform.ts";

export interface AttachmentInput {
  /** The content: bytes such as a Buffer, a Blob or File, or a base64 string. */
  content: Uint8Array | ArrayBuffer | Blob | string;
  /** File name that the recipient sees. Optional for a File, which has a name. */
  filename?: string;
  /** MIME type. Default: the type of the Blob, else `application/octet-stream`. */
  contentType?: string;
  /** Content id of an inline image: with `logo` here, the HTML shows it with `<img src="cid:logo">`. */
  contentId?: string;
}

export async function toAttachment(input: AttachmentInput, index: number): Promise<Attachment> {
  const field = `attachments[${index}]`;
  const { content } = input;
  const file: { name?: string; type?: string } = content instanceof Blob ? content : {};
  const filename = input.filename ?? file.name;
  if (filename === undefined)
    throw badArgument(`${field}.filename`, "is required: it is the name that the recipient sees");
  return {
    filename,
    base64Content: await encode(content, `${field}.content`),
    contentType: input.contentType ?? (file.type || undefined),
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
