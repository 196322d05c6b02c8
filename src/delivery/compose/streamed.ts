/**
 * A signed message whose large parts stay in the store until they are sent. The first pass over the body computes its hash, which the signature
 * in front of the message needs; the second sends it. Called by message-source.ts.
 */
import { ContentGone, type StoredPart } from "../../emails/store/parts.ts";
import { type MessageDigest, signDigest } from "../../mail/dkim.ts";
import { Base64Encoder } from "../../mail/mime/base64.ts";
import type { LargePiece, Outline } from "../../mail/mime/pieces.ts";
import { freeNow } from "../../ops/free.ts";
import type { MessagePiece, StreamedMessage } from "../../smtp/client/envelope.ts";
import type { Digests } from "./digests.ts";
import type { PrivateKeySource } from "./job.ts";
import type { Composer } from "./pool.ts";

export type Source = { outline: Outline; parts: readonly StoredPart[]; signal: AbortSignal };

export type StreamRequest = Source & {
  signer: PrivateKeySource;
  signedAt: Date;
  /** From an earlier pass over the same email. */
  bodyHash: string | undefined;
  /** Ends the reads of the message. */
  readSignal: AbortSignal;
};

export async function streamSigned(
  { composer, digests }: { composer: Pick<Composer, "keyOf">; digests: Digests },
  { signer, signedAt, bodyHash, readSignal, ...source }: StreamRequest,
): Promise<{ message: StreamedMessage; bodyHash: string }> {
  const { domain, selector } = signer;
  const head = await readHead(source);
  const digest: MessageDigest = { head, bodyHash: bodyHash ?? (await hashBody(source, head.length + 4, digests)) };
  const field = await signDigest(digest, { domain, selector, signedAt }, composer.keyOf(signer));
  const first = Buffer.from(field, "latin1");
  return {
    message: {
      length: first.length + source.outline.length,
      read: () => piecesOf(first, { ...source, signal: readSignal }),
    },
    bodyHash: digest.bodyHash,
  };
}

async function* piecesOf(first: Buffer, { outline, parts, signal }: Source): AsyncGenerator<MessagePiece> {
  if (first.length > 0) yield { bytes: first, isPlain: false };
  const encoder = new Base64Encoder();
  for (const piece of outline.pieces) {
    if (piece instanceof Uint8Array) {
      for (const bytes of slicesOf(piece)) yield { bytes, isPlain: false };
      continue;
    }
    for await (const octets of octetsOf(piece, parts, signal)) {
      if (!piece.isBase64) yield { bytes: octets, isPlain: false };
      else for (const bytes of encoder.add(octets)) yield { bytes, isPlain: true };
      freeNow(octets);
    }
    if (piece.isBase64) for (const bytes of encoder.end()) yield { bytes, isPlain: true };
  }
}

const sliceBytes = 64 * 1024;

function* slicesOf(bytes: Uint8Array): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    const to = Math.min(from + sliceBytes, bytes.length);
    yield Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
  }
}

async function* octetsOf(piece: LargePiece, parts: readonly StoredPart[], signal: AbortSignal) {
  const part = parts[piece.large.part];
  if (part === undefined || typeof part === "string" || part.bytes !== piece.large.bytes) throw new ContentGone();
  yield* part.read(signal);
}

/** The header of a submitted message is at most 256 KiB, and that of others is in the first piece of the outline. */
const maxHeadBytes = 1024 * 1024;

async function readHead(source: Source): Promise<string> {
  let head = Buffer.alloc(0);
  for await (const { bytes } of piecesOf(Buffer.alloc(0), source)) {
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf("\r\n\r\n");
    if (end >= 0) return head.toString("latin1", 0, end);
    if (head.length > maxHeadBytes) break;
  }
  throw new Error("a message without an empty line after its header cannot be signed");
}

/** The body hash of a message, without a signature. */
export async function bodyHashOf(source: Source, digests: Digests): Promise<string> {
  return await hashBody(source, (await readHead(source)).length + 4, digests);
}

async function hashBody({ outline, parts, signal }: Source, from: number, digests: Digests): Promise<string> {
  const session = digests.open();
  try {
    let skip = from;
    const add = async (octets: Uint8Array, isBase64: boolean) => {
      const bytes = skip === 0 ? octets : octets.subarray(Math.min(skip, octets.length));
      skip -= octets.length - bytes.length;
      if (bytes.length > 0) await session.add({ bytes, isBase64, endsFile: false });
    };
    for (const piece of outline.pieces) {
      // A copy, because the session takes the memory, and the outline is needed again.
      if (piece instanceof Uint8Array) await add(new Uint8Array(piece), false);
      else {
        for await (const octets of octetsOf(piece, parts, signal)) await add(octets, piece.isBase64);
        if (piece.isBase64) await session.add({ bytes: new Uint8Array(0), isBase64: true, endsFile: true });
      }
    }
    return await session.hash();
  } finally {
    session.drop();
  }
}
