/**
 * Reads the bytes of an SMTP client: lines, message text, and the syntax of commands. Only CRLF ends a line; any other line end
 * is a fault. Used by session.ts.
 */
import type { Socket } from "node:net";
import { createCollector } from "./collector.ts";
import type { ReceiveProgress } from "./progress.ts";

/**
 * A fault ends the session. When two servers disagree about line ends, a sender can make one of them see a second message
 * inside the first (SMTP smuggling), so the reader accepts CRLF only.
 */
export type LineFault = "bare CR" | "bare LF" | "NUL" | "line too long";

export type CommandRead =
  | { kind: "line"; line: Buffer }
  | { kind: "fault"; fault: LineFault }
  | { kind: "timeout" }
  | { kind: "stopped" }
  | { kind: "end" };

export type DataRead =
  | { kind: "message"; message: Buffer }
  /** `ended`: the final dot has arrived. Otherwise the next bytes are still message text and must not be read as commands. */
  | { kind: "too large"; ended: boolean }
  | { kind: "fault"; fault: LineFault }
  | { kind: "timeout" }
  | { kind: "stopped" }
  | { kind: "end" };

export type DataOptions = {
  maxBytes: number;
  /** The longest wait for the next bytes. */
  pauseMs: number;
  /** The longest time for the whole message. */
  totalMs: number;
  /** Ends the message when it is too slow. */
  progress: ReceiveProgress;
  /** Ends the message when it is aborted. */
  signal: AbortSignal;
  /** Reserves memory before the reader keeps more bytes. When it returns false, the reader discards the message. */
  reserve(bytes: number): boolean;
  /** Called when the reader discards the message, for lack of memory or because it is too large. */
  onDiscard?(): void;
  /** Resolves when the next bytes of a large message may be read. */
  turn(): Promise<void>;
};

/** RFC 5321 §4.5.3.1.4 requires 512 octets, and extensions add some. Real clients send less than this. */
const maxCommandBytes = 2048;
/** The beginning of each message is read as it arrives, the rest in turns. */
const smallBytes = 32 * 1024;
/** The reader pauses the socket while more bytes than this are buffered. */
const highWater = 128 * 1024;

/** Texts from this length on are faster to search and to move by the functions of Buffer than by a loop. */
const shortText = 32;

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;

export type ServerInput = {
  /** The whole line has to arrive within `waitMs`. */
  command(options: { waitMs: number; signal: AbortSignal }): Promise<CommandRead>;
  data(options: DataOptions): Promise<DataRead>;
  /** True when bytes have arrived that no call has read. */
  hasMore(): boolean;
  /** Removes the listeners, so that TLS can take over the socket. */
  detach(): void;
};

export function createServerInput(socket: Socket): ServerInput {
  const chunks: Buffer[] = [];
  let buffered = 0;
  let ended = false;
  let wake: (() => void) | undefined;

  const onData = (chunk: Buffer) => {
    chunks.push(chunk);
    buffered += chunk.length;
    if (buffered > highWater) socket.pause();
    wake?.();
  };
  const onEnd = () => {
    ended = true;
    wake?.();
  };
  socket.on("data", onData);
  for (const name of ["end", "close", "error"]) socket.on(name, onEnd);

  function take(): Buffer | undefined {
    const chunk = chunks.shift();
    if (chunk === undefined) return undefined;
    buffered -= chunk.length;
    if (buffered <= highWater / 2 && !ended) socket.resume();
    return chunk;
  }

  function unread(rest: Buffer): void {
    if (rest.length === 0) return;
    chunks.unshift(rest);
    buffered += rest.length;
  }

  /** The next bytes, or the reason why there are none. */
  async function next(waitMs: number, signal?: AbortSignal): Promise<Buffer | "timeout" | "stopped" | "end"> {
    const chunk = take();
    if (chunk) return chunk;
    if (ended) return "end";
    if (signal?.aborted) return "stopped";
    return await new Promise((resolve) => {
      const done = (result: Buffer | "timeout" | "stopped" | "end") => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        wake = undefined;
        resolve(result);
      };
      const timer = setTimeout(() => done("timeout"), waitMs);
      const onAbort = () => done("stopped");
      signal?.addEventListener("abort", onAbort, { once: true });
      wake = () => {
        const arrived = take();
        if (arrived) done(arrived);
        else if (ended) done("end");
      };
    });
  }

  return {
    async command({ waitMs, signal }) {
      let line: Buffer = Buffer.alloc(0);
      // One deadline for the line: a client that sends it octet by octet gets no more time.
      const end = performance.now() + waitMs;
      for (;;) {
        const chunk = await next(Math.max(0, end - performance.now()), signal);
        if (typeof chunk === "string") return { kind: chunk };
        line = line.length === 0 ? chunk : Buffer.concat([line, chunk]);
        const found = findLine(line);
        if (found.kind === "line") unread(line.subarray(found.line.length + 2));
        if (found.kind !== "more") return found;
      }
    },
    async data(options) {
      const reader = createDataReader(options);
      const end = performance.now() + options.totalMs;
      let received = 0;
      for (;;) {
        const left = Math.min(options.pauseMs, end - performance.now(), options.progress.leftMs());
        const chunk = left > 0 ? await next(left, options.signal) : "timeout";
        if (typeof chunk === "string") return { kind: chunk };
        options.progress.received(chunk.length);
        received += chunk.length;
        if (received > smallBytes) await options.turn();
        const read = reader(chunk);
        if (read === undefined) continue;
        if (read.rest) unread(read.rest);
        return read.result;
      }
    },
    hasMore: () => buffered > 0,
    detach() {
      socket.off("data", onData);
      for (const name of ["end", "close", "error"]) socket.off(name, onEnd);
    },
  };
}

function findLine(
  bytes: Buffer,
): { kind: "more" } | { kind: "line"; line: Buffer } | { kind: "fault"; fault: LineFault } {
  for (let i = 0; i < bytes.length; i++) {
    if (i >= maxCommandBytes) return { kind: "fault", fault: "line too long" };
    const byte = bytes[i];
    if (byte === 0) return { kind: "fault", fault: "NUL" };
    if (byte === LF) return { kind: "fault", fault: "bare LF" };
    if (byte !== CR) continue;
    if (i + 1 === bytes.length) return { kind: "more" };
    if (bytes[i + 1] !== LF) return { kind: "fault", fault: "bare CR" };
    return { kind: "line", line: bytes.subarray(0, i) };
  }
  return { kind: "more" };
}

type DataStep = { result: DataRead; rest?: Buffer } | undefined;

/** Reads message text up to the final dot and removes stuffed dots (RFC 5321 §4.5.2), within the chunks that it is given. Returns undefined until
 * the message is complete. */
export function createDataReader({
  maxBytes,
  reserve,
  onDiscard,
}: Pick<DataOptions, "maxBytes" | "reserve" | "onDiscard">): (chunk: Buffer) => DataStep {
  let stateBefore: "line start" | "in line" | "after CR" | "after dot" | "after dot CR" = "line start";
  const kept = createCollector();
  let size = 0;
  let received = 0;
  let discarding = false;

  const keep = (piece: Buffer) => {
    if (piece.length === 0 || discarding) return;
    size += piece.length;
    if (size > maxBytes || !reserve(piece.length)) {
      discarding = true;
      kept.drop();
      onDiscard?.();
      return;
    }
    kept.add(piece);
  };

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
        if (discarding) return { result: { kind: "too large", ended: true }, rest };
        return { result: { kind: "message", message: kept.take() }, rest };
      }
    }
    stateBefore = state;
    keep(chunk.subarray(0, move(chunk, end, from, chunk.length)));
    received += chunk.length;
    // Stop reading from a client that sends far more than the SIZE limit of our EHLO reply.
    if (received > maxBytes * 2 + highWater) return { result: { kind: "too large", ended: false } };
    return undefined;
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

/** `verb` is in upper case, and empty when the line does not begin with a word. */
export type SmtpCommand = { verb: string; rest: string };

/** Splits a command line into verb and rest; undefined when it is not UTF-8, the only charset that RFC 6531 §3.3 allows. */
export function readCommand(line: Buffer): SmtpCommand | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line);
  } catch {
    return undefined;
  }
  const match = /^([A-Za-z]+)(?: (.*))?$/s.exec(text.trimEnd());
  return match ? { verb: match[1]!.toUpperCase(), rest: match[2] ?? "" } : { verb: "", rest: text };
}

export type Path = { address: string; parameters: Map<string, string> };

/** Parses `FROM:<a@b> SIZE=10` after MAIL and `TO:<c@d>` after RCPT; undefined for a syntax error. The empty path is "". */
export function readPath(rest: string, keyword: "FROM" | "TO"): Path | undefined {
  // RFC 5321 §4.1.1.2 allows no space after the colon, but many clients send one.
  const match = new RegExp(`^${keyword}: ?<([^<>\\s]{0,320})>((?: [^ ]+)*)$`, "i").exec(rest.trimEnd());
  if (!match) return undefined;
  const parameters = new Map<string, string>();
  for (const word of match[2]!.split(" ").filter((w) => w !== "")) {
    const [name = "", value = ""] = word.split(/=(.*)/s);
    if (!/^[A-Za-z0-9][A-Za-z0-9-]*$/.test(name) || parameters.has(name.toUpperCase())) return undefined;
    parameters.set(name.toUpperCase(), value);
  }
  return { address: match[1]!, parameters };
}

/** The client's name in HELO or EHLO. Any printable ASCII is accepted, because the name is unverified in any case. */
export function readGreetingName(rest: string): string | undefined {
  const name = rest.trim();
  return /^[!-~]{1,255}$/.test(name) ? name : undefined;
}
