/** One attachment or inline image. emails/rules/check.ts checks it; compose.ts turns it into a MIME part. */

import { isCanonicalBase64 } from "./base64.ts";
import { type ContentType, parseContentType, transportType } from "./content-type.ts";
import { tokensField } from "./header.ts";
import { legacyNameTokens, parameterTokens } from "./parameter.ts";
import type { LargeContent, Part } from "./pieces.ts";

/** `L`: LargeContent where large files may be read when they are sent. */
export type Attachment<L = never> = {
  /** In any script; empty if there is none. */
  filename: string;
  /** A media type. Empty means application/octet-stream. */
  contentType: string;
  /** Canonical base64 (see `canonicalBase64`), as text or as its ASCII octets; or a file that is read when it is sent. */
  base64: string | Uint8Array | L;
  /** The target of `cid:` links in the HTML. A part with a content id is shown inline. */
  contentId?: string;
};

/** Returns every problem with the attachment's name, type and content id. `canonicalBase64` checks the content. */
export function checkAttachment(attachment: Omit<Attachment, "base64">): string[] {
  const problems: string[] = [];
  const { filename, contentType, contentId } = attachment;
  if (filename.length > 255) problems.push(`The file name has ${filename.length} characters; at most 255 are allowed`);
  if (/\p{Cc}/u.test(filename) || !filename.isWellFormed()) {
    problems.push("The file name contains a control character: remove it");
  }
  const type = contentType === "" ? undefined : parseContentType(contentType);
  if (type?.ok === false) problems.push(type.reason);
  if (contentId !== undefined && !CONTENT_ID.test(contentId)) {
    problems.push(
      'The content id must have 1 to 200 letters, digits or punctuation marks, without spaces or <>, such as "logo" or "logo@example.com"',
    );
  }
  return problems;
}

/** Returns the MIME part. `writePieces` later splits its content into base64 lines. */
export function attachmentPart(attachment: Attachment<LargeContent>, disposition: "attachment" | "inline"): Part {
  const problems = checkAttachment(attachment);
  if (problems.length > 0) throw new Error(`attachment cannot be composed: ${problems.join("; ")}`);
  const { base64 } = attachment;
  const isLarge = isLargeContent(base64);
  // A detached buffer reads as an empty file, which must not be sent instead of the real one.
  if (!isLarge && isDetached(base64)) {
    throw new Error("attachment cannot be composed: its content was already transferred to a worker");
  }
  // Other content could inject lines, and with them MIME parts.
  if (!isLarge && !isCanonicalBase64(base64)) {
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
  return [header, isLarge ? { large: base64, isBase64: true } : { base64 }];
}

export function isLargeContent<T>(content: T | LargeContent): content is LargeContent {
  return typeof content === "object" && content !== null && "part" in content;
}

/** A header value with parameters as tokens. Each token but the last ends with a semicolon. */
export function withSemicolons(value: string, parameters: readonly string[]): string[] {
  const tokens = [value, ...parameters];
  // A legacy name of several encoded words is one quoted string over several tokens: the semicolon follows its last word.
  return tokens.map((token, index) => (index === tokens.length - 1 || isInsideQuotes(token) ? token : `${token};`));
}

// RFC 2045 §7 requires an addr-spec, but single words are common in `cid:` links and every reader accepts them.
const CONTENT_ID = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.@-]{1,200}$/;

const OCTET_STREAM: ContentType = { type: "application/octet-stream", parameters: [] };

function isDetached(content: string | Uint8Array): boolean {
  return content instanceof Uint8Array && content.buffer instanceof ArrayBuffer && content.buffer.detached;
}

function typeOf({ contentType }: Pick<Attachment, "contentType">): ContentType {
  const parsed = parseContentType(contentType);
  return parsed.ok ? transportType(parsed.contentType) : OCTET_STREAM;
}

function isInsideQuotes(token: string): boolean {
  return /^(name=")?=\?.*\?=$/.test(token);
}
