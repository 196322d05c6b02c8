/** A message as a list of pieces with known sizes, written into one buffer, so that memory never holds a 40 MiB message twice; or without its
 * large parts, which are read and sent in pieces. */

import { base64Characters, base64LinesSize, writeBase64Lines } from "./base64.ts";

/** The octets of a large part, which are read when they are sent. `part` is its place in the content of the email. */
export type LargeContent = { part: number; bytes: number };
export type LargePiece = { large: LargeContent; isBase64: boolean };

/** Formatted text or bytes, or base64 content that is not yet split into lines, or the place of a large part. */
export type Piece = string | Uint8Array | { base64: string | Uint8Array } | LargePiece;

/** A MIME part: its header with the empty line, followed by the pieces of its body. */
export type Part = [head: string, ...body: Piece[]];

/** A message: what is in memory, and between it the large parts. `length` is its size as it is signed and sent. */
export type Outline = { pieces: (Uint8Array | LargePiece)[]; length: number };

/** Writes the pieces after `headroom` zero octets, which the caller may overwrite with a signature. */
export function writePieces(pieces: readonly Piece[], headroom: number): Buffer {
  const message = Buffer.allocUnsafe(headroom + pieces.reduce((sum, piece) => sum + pieceSize(piece), 0));
  message.fill(0, 0, headroom);
  let at = headroom;
  for (const piece of pieces) {
    if (typeof piece === "string") at += message.write(piece, at);
    else if (piece instanceof Uint8Array) {
      message.set(piece, at);
      at += piece.length;
    } else if ("base64" in piece) at = writeBase64Lines(piece.base64, message, at);
    else throw new Error("a message with a large part cannot be written as a whole");
  }
  return message;
}

export function outlineOf(pieces: readonly Piece[]): Outline {
  const outline: Outline["pieces"] = [];
  let between: Piece[] = [];
  const endRun = () => {
    const written = writePieces(between, 0);
    if (written.length > 0) outline.push(written);
    between = [];
  };
  for (const piece of pieces) {
    if (typeof piece === "string" || !("large" in piece)) {
      between.push(piece);
      continue;
    }
    endRun();
    outline.push(piece);
  }
  endRun();
  return { pieces: outline, length: pieces.reduce((sum, piece) => sum + pieceSize(piece), 0) };
}

function pieceSize(piece: Piece): number {
  if (typeof piece === "string") return Buffer.byteLength(piece);
  if (piece instanceof Uint8Array) return piece.length;
  if ("base64" in piece) return base64LinesSize(piece.base64.length);
  const { bytes } = piece.large;
  return piece.isBase64 ? base64LinesSize(base64Characters(bytes)) : bytes;
}
