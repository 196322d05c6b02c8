/** What an SMTP client says to our server, read with strict line discipline: commands and message text end with CRLF and nothing else does. */
import type { Socket } from "node:net";

/**
 * Anything but CRLF between lines is a fault that ends the conversation: where two servers disagree about line ends, one
 * of them can be made to see a message inside a message.
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
  /** `ended`: its final dot was seen. Otherwise what follows is still message text and must not be read as commands. */
  | { kind: "too large"; ended: boolean }
  | { kind: "fault"; fault: LineFault }
  | { kind: "timeout" }
  | { kind: "end" };

export type DataOptions = {
  maxBytes: number;
  /** Between two pieces, and for the whole message. */
  pauseMs: number;
  totalMs: number;
  /** Asked before more memory is held; false: there is none, and the rest is read and forgotten. */
  grow(bytes: number): boolean;
};

/** RFC 5321 §4.5.3.1.4 asks for 512 octets, extensions add some; nobody writes more. */
const maxCommandBytes = 2048;
/** A client may have this much on its way before we have read it. */
const highWater = 128 * 1024;

export type ServerInput = {
  command(options: { waitMs: number; signal: AbortSignal }): Promise<CommandRead>;
  data(options: DataOptions): Promise<DataRead>;
  /** True when the client has already sent more than was read. */
  hasMore(): boolean;
  /** Stops listening: the socket is handed to TLS. */
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

  function giveBack(rest: Buffer): void {
    if (rest.length === 0) return;
    chunks.unshift(rest);
    buffered += rest.length;
  }

  /** The next bytes, or why there are none. */
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
      for (;;) {
        const chunk = await next(waitMs, signal);
        if (typeof chunk === "string") return { kind: chunk };
        line = line.length === 0 ? chunk : Buffer.concat([line, chunk]);
        const found = findLine(line);
        if (found.kind === "line") giveBack(line.subarray(found.line.length + 2));
        if (found.kind !== "more") return found;
      }
    },
    async data(options) {
      const reader = createDataReader(options);
      const end = performance.now() + options.totalMs;
      for (;;) {
        const left = Math.min(options.pauseMs, end - performance.now());
        const chunk = left > 0 ? await next(left) : "timeout";
        if (typeof chunk === "string") return { kind: chunk === "stopped" ? "end" : chunk };
        const read = reader(chunk);
        if (read === undefined) continue;
        if (read.rest) giveBack(read.rest);
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

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;

type DataStep = { result: DataRead; rest?: Buffer } | undefined;

/** Reads message text up to its final dot, undoing the dots of RFC 5321 §4.5.2. Gives undefined as long as more is to come. */
export function createDataReader({
  maxBytes,
  grow,
}: Pick<DataOptions, "maxBytes" | "grow">): (chunk: Buffer) => DataStep {
  let state: "line start" | "in line" | "after CR" | "after dot" | "after dot CR" = "line start";
  const kept: Buffer[] = [];
  let size = 0;
  let seen = 0;
  let forgetting = false;

  const keep = (piece: Buffer) => {
    if (piece.length === 0 || forgetting) return;
    size += piece.length;
    if (size > maxBytes || !grow(piece.length)) {
      forgetting = true;
      kept.length = 0;
      return;
    }
    // A copy: the chunk of a small piece would otherwise keep its whole 64 KiB alive.
    kept.push(Buffer.from(piece));
  };

  return (chunk) => {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (state === "in line") {
        if (byte === CR) state = "after CR";
        else if (byte === LF) return fault("bare LF");
      } else if (state === "after CR") {
        if (byte !== LF) return fault("bare CR");
        state = "line start";
      } else if (state === "line start") {
        if (byte === LF) return fault("bare LF");
        if (byte === DOT) {
          keep(chunk.subarray(from, i));
          from = i + 1;
          state = "after dot";
        } else state = byte === CR ? "after CR" : "in line";
      } else if (state === "after dot") {
        if (byte === LF) return fault("bare LF");
        if (byte === CR) {
          from = i + 1;
          state = "after dot CR";
        } else state = "in line";
      } else {
        if (byte !== LF) return fault("bare CR");
        const rest = chunk.subarray(i + 1);
        if (forgetting) return { result: { kind: "too large", ended: true }, rest };
        return { result: { kind: "message", message: Buffer.concat(kept) }, rest };
      }
    }
    keep(chunk.subarray(from));
    seen += chunk.length;
    // Whoever goes on far beyond the limit that was announced is not waited for.
    if (seen > maxBytes * 2 + highWater) return { result: { kind: "too large", ended: false } };
    return undefined;
  };
}

function fault(name: LineFault): DataStep {
  return { result: { kind: "fault", fault: name } };
}
