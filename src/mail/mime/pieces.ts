/** A message as a list of pieces with known sizes, written into one buffer, so that memory never holds a 40 MiB message twice. */

import { base64LinesSize, writeBase64Lines } from "./base64.ts";

/** Formatted text or bytes, or base64 content that is not yet split into lines. */
export type Piece = string | Uint8Array | { base64: string | Uint8Array };

/** A MIME part: its header with the empty line, followed by the pieces of its body. */
export type Part = [head: string, ...body: Piece[]];

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
    } else at = writeBase64Lines(piece.base64, message, at);
  }
  return message;
}

function pieceSize(piece: Piece): number {
  if (typeof piece === "string") return Buffer.byteLength(piece);
  return piece instanceof Uint8Array ? piece.length : base64LinesSize(piece.base64.length);
}
