/** Encodes a message for DATA: stuffs dots, appends the final dot and splits the bytes into pieces. Used by transaction.ts. */

/** Small enough that copying one piece does not block the event loop, large enough that most messages are one piece. */
export const pieceBytes = 64 * 1024;

export type BodyPiece = { bytes: Buffer; last: boolean };

/**
 * RFC 5321 §4.5.2. Throws BareLineEnd instead of returning a piece with a bare CR or LF. Receivers disagree on their
 * meaning: a receiver that reads them as line ends could see the end of the message inside it ("SMTP smuggling").
 * `prefix`: header fields in front of the message, so that copies with different ones share the message's memory.
 */
export function* bodyPieces(message: Buffer, prefix = ""): Generator<BodyPiece, void, undefined> {
  checkPrefix(prefix);
  let start = 0;
  let head = prefix;
  do {
    const end = Math.min(start + pieceBytes, message.length);
    const dots = stuffedDots(message, start, end);
    const last = end === message.length;
    const tail = last ? (endsWithCrlf(message) ? ".\r\n" : "\r\n.\r\n") : "";
    yield { bytes: stuff(message, { start, end, dots, head, tail }), last };
    start = end;
    head = "";
  } while (start < message.length);
}

export class BareLineEnd extends Error {
  override readonly name = "BareLineEnd";
}

/** Fields of our own, so that anything else is a bug: whole lines of printable ASCII, none of which begins with a dot. */
function checkPrefix(prefix: string): void {
  if (!/^(?:[!-\-/-~][ -~]*\r\n)*$/.test(prefix)) throw new BareLineEnd("the header fields of the copy are not valid");
}

/** The offsets in [start, end) of dots that begin a line. */
function stuffedDots(message: Buffer, start: number, end: number): number[] {
  const dots: number[] = [];
  if (message[start] === DOT && (start === 0 || message[start - 1] === LF)) dots.push(start);
  const piece = message.subarray(start, end);
  let cr = piece.indexOf(CR);
  for (let lf = piece.indexOf(LF); lf >= 0; lf = piece.indexOf(LF, lf + 1)) {
    const paired = lf === 0 ? message[start - 1] === CR : cr === lf - 1;
    if (!paired) throw new BareLineEnd(`the message contains a bare CR or LF near byte ${start + lf}`);
    if (piece[lf + 1] === DOT) dots.push(start + lf + 1);
    cr = piece.indexOf(CR, lf + 1);
  }
  // A CR at the end of a piece belongs to the LF that begins the next piece.
  if (cr >= 0 && message[start + cr + 1] !== LF)
    throw new BareLineEnd(`the message contains a bare CR at byte ${start + cr}`);
  return dots;
}

type Range = { start: number; end: number; dots: readonly number[]; head: string; tail: string };

function stuff(message: Buffer, { start, end, dots, head, tail }: Range): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + end - start + dots.length + tail.length);
  let from = start;
  let to = bytes.write(head, "latin1");
  for (const dot of dots) {
    to += message.copy(bytes, to, from, dot);
    bytes[to++] = DOT;
    from = dot;
  }
  to += message.copy(bytes, to, from, end);
  bytes.write(tail, to, "latin1");
  return bytes;
}

function endsWithCrlf(message: Buffer): boolean {
  return message.length === 0 || (message.at(-1) === LF && message.at(-2) === CR);
}

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;
