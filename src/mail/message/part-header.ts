/** Reads the header of a message or of one of its parts, with the header rules of postal-mime: comments, folding, RFC 2231 parameters,
 * charset aliases. Called by structure.ts. */
import PostalMime, { decodeWords } from "postal-mime";

export type Header = { key: string; value: string };

export type PartHeader = {
  headers: Header[];
  /** In lower case, such as `text/plain`. */
  type: string;
  /** The subtype of a multipart type, else undefined. */
  multipart: string | undefined;
  /** Undefined for a multipart without a boundary, whose parts cannot be found. */
  boundary: Buffer | undefined;
  encoding: "base64" | "quoted-printable" | "identity";
  isAttachment: boolean;
  filename: string;
  contentId: string;
  /** Decodes a text body by the charset and the format parameter. */
  textOf(content: Uint8Array): string;
};

export type PartHeaderReader = {
  /** Adds one line of the header, without its line end. */
  line(bytes: Uint8Array): void;
  finish(): PartHeader;
};

/** What we use of postal-mime's class of a MIME part. The library's types leave out how to reach it. */
type LibraryNode = {
  feed(line: Uint8Array): void;
  processHeaders(): void;
  setupContentDecoder(encoding: string): void;
  headers: Header[];
  contentType: { value: string; parsed: Structured; multipart: string | false };
  contentTransferEncoding: { encoding: string };
  contentDisposition: { parsed: Structured };
  contentId?: string;
  content: ArrayBuffer | Uint8Array | null;
  getTextContent(): string;
};
type Structured = { value: string; params: Record<string, string> };

/** `parentType` is the subtype of the enclosing multipart. The caller limits the size of all headers. */
export function createPartHeader(parentType: string | undefined): PartHeaderReader {
  const { root: node } = new PostalMime({ maxHeadersSize: Number.MAX_SAFE_INTEGER }) as unknown as {
    root: LibraryNode;
  };
  // RFC 2046 §5.1.5: the parts of a digest are messages unless they say otherwise.
  if (parentType === "digest") node.contentType.value = "message/rfc822";
  // The library's decoders allocate 100 KiB for a part and take 13 µs for a line. body.ts decodes instead.
  node.setupContentDecoder = () => {};
  return {
    line: (bytes) => node.feed(bytes),
    finish() {
      node.processHeaders();
      return headerOf(node);
    },
  };
}

function headerOf(node: LibraryNode): PartHeader {
  const { parsed, multipart } = node.contentType;
  const { boundary } = parsed.params;
  const filename = node.contentDisposition.parsed.params.filename || parsed.params.name;
  return {
    headers: node.headers,
    type: parsed.value,
    multipart: multipart === false ? undefined : multipart,
    boundary: multipart !== false && boundary ? Buffer.from(boundary) : undefined,
    encoding: encodingOf(node.contentTransferEncoding.encoding),
    isAttachment: node.contentDisposition.parsed.value === "attachment",
    filename: filename ? decodeWords(filename) : "",
    contentId: node.contentId ?? "",
    textOf(content) {
      node.content = content;
      const text = node.getTextContent();
      node.content = null;
      return text;
    },
  };
}

function encodingOf(name: string): PartHeader["encoding"] {
  if (/base64/.test(name)) return "base64";
  return /quoted-printable/.test(name) ? "quoted-printable" : "identity";
}
