/** One attachment or inline image: what accept checks of it, and the MIME part it becomes. */

import { isCanonicalBase64 } from "./base64.ts";
import { type ContentType, parseContentType, transportType } from "./content-type.ts";
import { tokensField } from "./header.ts";
import { legacyNameTokens, parameterTokens } from "./parameter.ts";
import type { Part } from "./pieces.ts";

export type Attachment = {
  /** Any name in any script; empty for none. */
  filename: string;
  /** A media type; empty means application/octet-stream. */
  contentType: string;
  /** Canonical base64 (see `canonicalBase64`), as text or as its ASCII octets. */
  base64: string | Uint8Array;
  /** Names the part for `cid:` links in the HTML; such a part is shown inline. */
  contentId?: string;
};

/** Every problem with the attachment's labels, in words for the caller; the content is judged by `canonicalBase64`. */
export function checkAttachment(attachment: Omit<Attachment, "base64">): string[] {
  const problems: string[] = [];
  const { filename, contentType, contentId } = attachment;
  if (filename.length > 255) problems.push(`The file name has ${filename.length} characters, at most 255 are allowed`);
  if (/\p{Cc}/u.test(filename) || !filename.isWellFormed()) {
    problems.push("The file name contains a control character: remove it");
  }
  const type = contentType === "" ? undefined : parseContentType(contentType);
  if (type?.ok === false) problems.push(type.reason);
  if (contentId !== undefined && !CONTENT_ID.test(contentId)) {
    problems.push(
      'The content id must be 1 to 200 letters, digits or marks such as "logo" or "logo@example.com", without spaces or <>',
    );
  }
  return problems;
}

/** The part, its content to be cut into base64 lines when it is written. */
export function attachmentPart(attachment: Attachment, disposition: "attachment" | "inline"): Part {
  const problems = checkAttachment(attachment);
  if (problems.length > 0) throw new Error(`attachment cannot be composed: ${problems.join("; ")}`);
  // Memory that was given away reads as an empty file, which must not pass for the real one.
  if (wasHandedOver(attachment.base64)) {
    throw new Error("attachment cannot be composed: its content was handed over before");
  }
  // Anything else could smuggle in lines, and so parts, of its own.
  if (!isCanonicalBase64(attachment.base64)) {
    throw new Error("attachment cannot be composed: the content is not canonical base64");
  }
  const { filename, contentId } = attachment;
  const { type, parameters } = typeOf(attachment);
  const typeTokens = [
    ...parameters.flatMap(([name, value]) => parameterTokens(name, value)),
    ...(filename === "" ? [] : legacyNameTokens(filename)),
  ];
  const header =
    tokensField("Content-Type", withSemicolons(type, typeTokens)) +
    tokensField(
      "Content-Disposition",
      withSemicolons(disposition, filename === "" ? [] : parameterTokens("filename", filename)),
    ) +
    (contentId === undefined ? "" : tokensField("Content-ID", [`<${contentId}>`])) +
    "Content-Transfer-Encoding: base64\r\n\r\n";
  return [header, { base64: attachment.base64 }];
}

/** A parameterised header value as tokens, each but the last closed by a semicolon. */
export function withSemicolons(value: string, parameters: readonly string[]): string[] {
  const tokens = [value, ...parameters];
  // A legacy name of several encoded words is one quoted string over several tokens: only its last word closes it.
  return tokens.map((token, index) => (index === tokens.length - 1 || isInsideQuotes(token) ? token : `${token};`));
}

// RFC 2045 §7 asks for an addr-spec, but bare words are common in `cid:` links and read everywhere.
const CONTENT_ID = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.@-]{1,200}$/;

const OCTET_STREAM: ContentType = { type: "application/octet-stream", parameters: [] };

function wasHandedOver(content: string | Uint8Array): boolean {
  return content instanceof Uint8Array && content.buffer instanceof ArrayBuffer && content.buffer.detached;
}

function typeOf({ contentType }: Attachment): ContentType {
  const parsed = parseContentType(contentType);
  return parsed.ok ? transportType(parsed.contentType) : OCTET_STREAM;
}

function isInsideQuotes(token: string): boolean {
  return /^(name=")?=\?.*\?=$/.test(token);
}
