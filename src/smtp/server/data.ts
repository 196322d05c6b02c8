/** Reads the text of a message after DATA or BDAT, with its dots and line ends. receiving.ts creates the readers, input.ts runs them. */
import { createCollector } from "./collector.ts";

/**
 * A fault ends the session. When two servers disagree about line ends, a sender can make one of them see a second message
 * inside the first (SMTP smuggling), so the reader accepts CRLF only.
 */
export type LineFault = "bare CR" | "bare LF" | "NUL" | "line too long";

export type DataRead =
  | { kind: "message"; message: Buffer }
  /** All octets of a BDAT command have arrived. */
  | { kind: "chunk" }
  /** `ended`: the final dot has arrived. Otherwise the next bytes are still message text and must not be read as commands. */
  | { kind: "too large"; ended: boolean }
  | { kind: "fault"; fault: LineFault }
  | { kind: "timeout" }
  | { kind: "stopped" }
  | { kind: "end" };

/** The reader pauses the socket while more bytes than this are buffered. */
export const highWater = 128 * 1024;

/** Texts from this length on are faster to search and to move by the functions of Buffer than by a loop. */
const shortText = 32;

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;

/** Undefined: more data follows. `rest` is what comes after it. */
export type DataStep = { result: DataRead; rest?: Buffer } | undefined;
export type DataReader = (chunk: Buffer) => DataStep;

export type KeepOptions = {
  maxBytes: number;
  /** Reserves memory before more octets are kept. When it returns false, the message is discarded. */
  reserve(bytes: number): boolean;
  /** Called when the message is discarded, for lack of memory or because it is too large. */
  onDiscard?(): void;
};

/** Keeps the octets of a message, or discards all of them when they are too many. */
export function createKeeper({ maxBytes, reserve, onDiscard }: KeepOptions) {
  const kept = createCollector();
  let size = 0;
  let discarding = false;
  const drop = (): void => {
    discarding = true;
    kept.drop();
  };
  return {
    keep(piece: Buffer): void {
      if (piece.length === 0 || discarding) return;
      size += piece.length;
      if (size > maxBytes || !reserve(piece.length)) {
        drop();
        onDiscard?.();
        return;
      }
      kept.add(piece);
    },
    /** Discards the message. */
    drop,
    /** True: the message is discarded. */
    discards: () => discarding,
    take: kept.take,
  };
}

export type Keeper = ReturnType<typeof createKeeper>;

/** Reads message text up to the final dot and removes stuffed dots (RFC 5321 §4.5.2), within the chunks that it is given. Returns undefined until
 * the message is complete. */
export function createDataReader(options: KeepOptions): DataReader {
  let stateBefore: "line start" | "in line" | "after CR" | "after dot" | "after dot CR" = "line start";
  const { keep, discards, take } = createKeeper(options);
  let received = 0;

  return (chunk) => {
    let state = stateBefore;
    // Dots are removed within the chunk, so that a message of dots costs as little as any other: the octets from `from` on belong at `end`.
    let from = 0;
    let end = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (state === "in line") {
        i = textEnd(chunk, i);
        if (i === chunk.length) break;
        if (chunk[i] === LF) return fault("bare LF");
        state = "after CR";
      } else if (state === "after CR") {
        if (byte !== LF) return fault("bare CR");
        state = "line start";
      } else if (state === "line start") {
        // Empty lines are the shortest ones, so a message of them has the most lines.
        while (i + 1 < chunk.length && chunk[i] === CR && chunk[i + 1] === LF) i += 2;
        if (i === chunk.length) break;
        const first = chunk[i];
        if (first === LF) return fault("bare LF");
        if (first === DOT) {
          end = move(chunk, end, from, i);
          from = i + 1;
          state = "after dot";
        } else state = first === CR ? "after CR" : "in line";
      } else if (state === "after dot") {
        if (byte === LF) return fault("bare LF");
        if (byte === CR) {
          from = i + 1;
          state = "after dot CR";
        } else state = "in line";
      } else {
        if (byte !== LF) return fault("bare CR");
        const rest = chunk.subarray(i + 1);
        keep(chunk.subarray(0, end));
        if (discards()) return { result: { kind: "too large", ended: true }, rest };
        return { result: { kind: "message", message: take() }, rest };
      }
    }
    stateBefore = state;
    keep(chunk.subarray(0, move(chunk, end, from, chunk.length)));
    received += chunk.length;
    // Stop reading from a client that sends far more than the SIZE limit of our EHLO reply.
    if (received > options.maxBytes * 2 + highWater) return { result: { kind: "too large", ended: false } };
    return undefined;
  };
}

/** Reads the octets of one BDAT command (RFC 3030), whatever they are. `lines` checks line ends over all commands of a message. */
export function createChunkReader(bytes: number, { keep }: Pick<Keeper, "keep">, lines: LineCheck): DataReader {
  let left = bytes;
  return (chunk) => {
    const piece = chunk.subarray(0, left);
    left -= piece.length;
    lines.add(piece);
    keep(piece);
    return left > 0 ? undefined : { result: { kind: "chunk" }, rest: chunk.subarray(piece.length) };
  };
}

export type LineCheck = {
  add(piece: Buffer): void;
  /** Why the message must not be sent on, after its last octet. */
  fault(): LineFault | undefined;
};

/** Without it, a bare CR or LF in a BDAT command would be sent on as part of a DATA command, where servers read it in different ways. */
export function createLineCheck(): LineCheck {
  let found: LineFault | undefined;
  let afterCr = false;
  return {
    add(piece) {
      if (piece.length === 0 || found) return;
      if (afterCr && piece[0] !== LF) found = "bare CR";
      if (piece.includes(0)) found ??= "NUL";
      let at = afterCr && piece[0] === LF ? 1 : 0;
      afterCr = false;
      while (!found) {
        at = textEnd(piece, at);
        if (at === piece.length) break;
        if (piece[at] === LF) found = "bare LF";
        else if (at + 1 === piece.length) {
          afterCr = true;
          break;
        } else if (piece[at + 1] !== LF) found = "bare CR";
        at += 2;
      }
    },
    fault: () => found ?? (afterCr ? "bare CR" : undefined),
  };
}

/** Moves the octets between `from` and `to` forward to `at`, and returns where they end. */
function move(chunk: Buffer, at: number, from: number, to: number): number {
  const end = at + to - from;
  if (at === from) return end;
  if (end - at < shortText) for (let i = at; i < end; i++) chunk[i] = chunk[from + i - at]!;
  else chunk.copyWithin(at, from, to);
  return end;
}

/** The position of the next CR or LF from `at` on, or the end of the chunk. */
function textEnd(chunk: Buffer, at: number): number {
  const near = Math.min(at + shortText, chunk.length);
  for (let i = at; i < near; i++) if (chunk[i] === CR || chunk[i] === LF) return i;
  const cr = chunk.indexOf(CR, near);
  const lf = chunk.indexOf(LF, near);
  if (cr < 0 || lf < 0) return Math.max(cr, lf) < 0 ? chunk.length : Math.max(cr, lf);
  return Math.min(cr, lf);
}

function fault(name: LineFault): DataStep {
  return { result: { kind: "fault", fault: name } };
}
