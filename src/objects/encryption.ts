/** The form of an object: a header, then pieces of 64 KiB, each encrypted and authenticated with AES-256-GCM under a key that only this object
 * has. Every piece is bound to its number, to whether it is the last, and to the object's name: pieces and objects cannot be swapped,
 * shortened or reordered. A range can be read without the rest. Called by content-store.ts; decision 63 has the reasons. */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { ObjectLost } from "./store-error.ts";

export const pieceBytes = 64 * 1024;
const tagBytes = 16;
const sealedPieceBytes = pieceBytes + tagBytes;
/** The magic word, the version, and the logarithm of the length of pieces. */
const header = Buffer.from([0x50, 0x48, 0x4f, 0x42, 1, 16, 0, 0]);
export const keyBytes = 32;

export type ObjectKey = { name: string; key: Buffer };

/** The length of the object of this much content. Empty content has one empty piece. */
export function sealedBytes(bytes: number): number {
  return header.length + bytes + piecesIn(bytes) * tagBytes;
}

export function piecesIn(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / pieceBytes));
}

/** Where the pieces from `first` up to `end` are in the object. The header belongs to the first piece. */
export function sealedRange(
  bytes: number,
  { first, end }: { first: number; end: number },
): { start: number; end: number } {
  return {
    start: first === 0 ? 0 : header.length + first * sealedPieceBytes,
    end: Math.min(sealedBytes(bytes), header.length + end * sealedPieceBytes),
  };
}

/** Content that does not have `bytes` octets is an error. */
export async function* sealPieces(
  { name, key }: ObjectKey,
  { bytes, chunks }: { bytes: number; chunks: Iterable<Buffer> | AsyncIterable<Buffer> },
): AsyncGenerator<Buffer> {
  yield header;
  const last = piecesIn(bytes) - 1;
  let number = 0;
  let seen = 0;
  for await (const piece of inPieces(chunks)) {
    seen += piece.length;
    if (number > last || seen > bytes) break;
    yield sealPiece({ name, key }, { number, isLast: number === last, piece });
    number++;
  }
  if (bytes === 0 && seen === 0) yield sealPiece({ name, key }, { number: 0, isLast: true, piece: Buffer.alloc(0) });
  else if (seen !== bytes) throw new Error(`content of ${bytes} octets had ${seen}`);
}

/** Opens the sealed pieces from `first` on, as they were read with `sealedRange`. Throws ObjectLost for anything else than what was sealed. */
export function openPieces(
  { name, key }: ObjectKey,
  { bytes, first, sealed }: { bytes: number; first: number; sealed: Buffer },
): Buffer[] {
  if (first === 0 && !sealed.subarray(0, header.length).equals(header))
    throw new ObjectLost(`the object ${name} has an unknown form`);
  const last = piecesIn(bytes) - 1;
  const opened: Buffer[] = [];
  let at = first === 0 ? header.length : 0;
  for (let number = first; at < sealed.length; number++) {
    const end = Math.min(at + sealedPieceBytes, sealed.length);
    opened.push(openPiece({ name, key }, { number, isLast: number === last, sealed: sealed.subarray(at, end) }));
    at = end;
  }
  return opened;
}

function sealPiece(
  { name, key }: ObjectKey,
  { number, isLast, piece }: { number: number; isLast: boolean; piece: Buffer },
): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key, nonceOf(number, isLast)).setAAD(boundTo(name));
  const body = cipher.update(piece);
  return Buffer.concat([body, cipher.final(), cipher.getAuthTag()], body.length + tagBytes);
}

function openPiece(
  { name, key }: ObjectKey,
  { number, isLast, sealed }: { number: number; isLast: boolean; sealed: Buffer },
): Buffer {
  if (sealed.length < tagBytes) throw new ObjectLost(`the object ${name} is cut off`);
  const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(number, isLast)).setAAD(boundTo(name));
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  const body = decipher.update(sealed.subarray(0, sealed.length - tagBytes));
  try {
    decipher.final();
  } catch {
    throw new ObjectLost(`piece ${number} of the object ${name} is damaged`);
  }
  return body;
}

/** Unique under the object's key: seven zeros, the number of the piece, and whether it is the last (the STREAM construction). */
function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(number, 7);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

function boundTo(name: string): Buffer {
  return Buffer.concat([header, Buffer.from(name)]);
}

/** Chunks of any length as pieces of exactly 64 KiB; the last one may be shorter. */
async function* inPieces(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let at = 0;
    while (length + chunk.length - at >= pieceBytes) {
      const take = pieceBytes - length;
      yield waiting.length === 0
        ? chunk.subarray(at, at + take)
        : Buffer.concat([...waiting, chunk.subarray(at, at + take)], pieceBytes);
      at += take;
      waiting = [];
      length = 0;
    }
    if (at === chunk.length) continue;
    waiting.push(chunk.subarray(at));
    length += chunk.length - at;
  }
  if (length > 0) yield Buffer.concat(waiting, length);
}
