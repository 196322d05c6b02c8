/** Encodes a message for DATA: stuffs dots, appends the final dot and splits the bytes into pieces. Used by transaction.ts. */

/** Small enough that copying one piece does not block the event loop, large enough that most messages are one piece. */
export const pieceBytes = 64 * 1024;

export type BodyPiece = { bytes: Buffer; last: boolean };

/**
 * Encodes a message piece by piece (RFC 5321 §4.5.2). Throws BareLineEnd instead of returning octets with a bare CR or LF. Receivers disagree on
 * their meaning: a receiver that reads them as line ends could see the end of the message inside it ("SMTP smuggling").
 */
export class BodyEncoder {
  #startsLine = true;
  #afterCr = false;
  #at = 0;

  /** `head` and `tail` are put around the piece as they are. */
  encode(piece: Buffer, { head = "", tail = "" }: { head?: string; tail?: string } = {}): Buffer {
    const dots = this.#stuffedDots(piece);
    const bytes = Buffer.allocUnsafe(head.length + piece.length + dots.length + tail.length);
    let from = 0;
    let to = bytes.write(head, "latin1");
    for (const dot of dots) {
      to += piece.copy(bytes, to, from, dot);
      bytes[to++] = DOT;
      from = dot;
    }
    to += piece.copy(bytes, to, from);
    bytes.write(tail, to, "latin1");
    return bytes;
  }

  /** Returns whole lines that begin with no dot as they are. */
  plain(lines: Buffer): Buffer {
    if (!this.#startsLine || this.#afterCr) return this.encode(lines);
    this.#at += lines.length;
    return lines;
  }

  /** The final dot, after a line end if the message has none. */
  end(): string {
    if (this.#afterCr) throw new BareLineEnd(`the message contains a bare CR at byte ${this.#at - 1}`);
    return this.#startsLine ? ".\r\n" : "\r\n.\r\n";
  }

  /** The offsets of dots that begin a line. */
  #stuffedDots(piece: Buffer): number[] {
    if (piece.length === 0) return [];
    const dots: number[] = [];
    if (this.#startsLine && piece[0] === DOT) dots.push(0);
    // A CR at the end of a piece belongs to the LF that begins the next piece.
    if (this.#afterCr && piece[0] !== LF)
      throw new BareLineEnd(`the message contains a bare CR at byte ${this.#at - 1}`);
    let cr = piece.indexOf(CR);
    for (let lf = piece.indexOf(LF); lf >= 0; lf = piece.indexOf(LF, lf + 1)) {
      const paired = lf === 0 ? this.#afterCr : cr === lf - 1;
      if (!paired) throw new BareLineEnd(`the message contains a bare CR or LF near byte ${this.#at + lf}`);
      if (piece[lf + 1] === DOT) dots.push(lf + 1);
      cr = piece.indexOf(CR, lf + 1);
    }
    if (cr >= 0 && cr < piece.length - 1)
      throw new BareLineEnd(`the message contains a bare CR at byte ${this.#at + cr}`);
    this.#startsLine = piece.at(-1) === LF;
    this.#afterCr = cr >= 0;
    this.#at += piece.length;
    return dots;
  }
}

/** A message in memory, encoded. `prefix`: header fields in front of it, so that copies with different ones share the message's memory. */
export function* bodyPieces(message: Buffer, prefix = ""): Generator<BodyPiece, void, undefined> {
  checkPrefix(prefix);
  const encoder = new BodyEncoder();
  let start = 0;
  let head = prefix;
  do {
    const end = Math.min(start + pieceBytes, message.length);
    const last = end === message.length;
    const tail = last ? (endsWithCrlf(message) ? ".\r\n" : "\r\n.\r\n") : "";
    const bytes = encoder.encode(message.subarray(start, end), { head, tail });
    if (last) encoder.end();
    yield { bytes, last };
    start = end;
    head = "";
  } while (start < message.length);
}

export class BareLineEnd extends Error {
  override readonly name = "BareLineEnd";
}

/** Fields of our own, so that anything else is a bug: whole lines of printable ASCII, none of which begins with a dot. */
export function checkPrefix(prefix: string): void {
  if (!/^(?:[!-\-/-~][ -~]*\r\n)*$/.test(prefix)) throw new BareLineEnd("the header fields of the copy are not valid");
}

function endsWithCrlf(message: Buffer): boolean {
  return message.length === 0 || (message.at(-1) === LF && message.at(-2) === CR);
}

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;
