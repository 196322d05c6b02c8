/** The body hash of a DKIM signature: SHA-256 of the relaxed body (RFC 6376 §3.4.4 and §3.7), of a body in one piece or in many. */

import { createHash } from "node:crypto";

/** In base64. */
export function relaxedBodyHash(body: Buffer): string {
  const hash = new BodyHash();
  hash.add(body);
  return hash.digest();
}

/** Hashes a body that arrives in pieces. They may end anywhere: between CR and LF, or in a run of spaces. */
export class BodyHash {
  readonly #hash = createHash("sha256");
  #isEmpty = true;
  /** Line ends that are not hashed yet: those at the end of the body do not count. */
  #lineEnds = 0;
  /** White space at the end of the last piece, which is removed if a line end follows. */
  #endsWithSpace = false;
  /** A CR at the end of the last piece, which belongs to a line end if LF follows. */
  #endsWithCr = false;

  add(piece: Buffer): void {
    const asIs = !this.#endsWithSpace && !this.#endsWithCr && isRelaxed(piece);
    this.#addRelaxed(asIs ? piece : this.#relax(piece));
  }

  /** Adds whole lines without white space, the last one with its end: base64, for which the search for white space is not needed. */
  addPlainLines(lines: Buffer): void {
    if (this.#endsWithSpace || this.#endsWithCr) this.add(lines);
    else this.#addRelaxed(lines);
  }

  digest(): string {
    // White space at the end of the body is removed, but not a CR that is no part of a line end.
    if (this.#endsWithCr) this.#addRelaxed(Buffer.from(this.#endsWithSpace ? " \r" : "\r"));
    if (!this.#isEmpty) this.#hash.update("\r\n");
    return this.#hash.digest("base64");
  }

  #addRelaxed(relaxed: Buffer): void {
    let end = relaxed.length;
    while (end >= 2 && relaxed[end - 1] === LF && relaxed[end - 2] === CR) end -= 2;
    if (end > 0) {
      this.#isEmpty = false;
      for (let left = this.#lineEnds; left > 0; left -= lineEnds.length / 2)
        this.#hash.update(lineEnds.subarray(0, 2 * left));
      this.#lineEnds = 0;
      this.#hash.update(relaxed.subarray(0, end));
    }
    this.#lineEnds += (relaxed.length - end) / 2;
  }

  #relax(piece: Buffer): Buffer {
    const out = Buffer.allocUnsafe(piece.length + 2);
    let at = 0;
    let space = this.#endsWithSpace;
    let cr = this.#endsWithCr;
    for (const byte of piece) {
      if (cr) {
        cr = false;
        if (space && byte !== LF) out[at++] = SPACE;
        space = false;
        out[at++] = CR;
        if (byte === LF) {
          out[at++] = LF;
          continue;
        }
      }
      if (byte === SPACE || byte === TAB) {
        space = true;
      } else if (byte === CR) {
        cr = true;
      } else {
        if (space) out[at++] = SPACE;
        space = false;
        out[at++] = byte;
      }
    }
    this.#endsWithSpace = space;
    this.#endsWithCr = cr;
    return out.subarray(0, at);
  }
}

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const TWO_SPACES = Buffer.from("  ");
const SPACE_AT_END = Buffer.from(" \r\n");
/** Line ends to hash at once. */
const lineEnds = Buffer.from("\r\n".repeat(16_384));

// Base64 and most quoted-printable bodies need no change. Three native searches detect that at several GB/s.
function isRelaxed(piece: Buffer): boolean {
  const last = piece[piece.length - 1];
  return (
    piece.indexOf(TAB) < 0 &&
    piece.indexOf(TWO_SPACES) < 0 &&
    piece.indexOf(SPACE_AT_END) < 0 &&
    last !== SPACE &&
    last !== CR
  );
}
