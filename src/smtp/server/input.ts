/**
 * Reads the bytes of an SMTP client: lines, and the syntax of commands. Only CRLF ends a line; any other line end is a fault. Used by session.ts.
 * data.ts reads message text.
 */
import type { Socket } from "node:net";
import { type DataRead, type DataReader, highWater, type LineFault } from "./data.ts";
import type { ReceiveProgress } from "./progress.ts";

export type CommandRead =
  | { kind: "line"; line: Buffer }
  | { kind: "fault"; fault: LineFault }
  | { kind: "timeout" }
  | { kind: "stopped" }
  | { kind: "end" };

export type DataOptions = {
  /** The longest wait for the next bytes. */
  pauseMs: number;
  /** The longest time for the whole message. */
  totalMs: number;
  /** Ends the message when it is too slow. */
  progress: ReceiveProgress;
  /** Ends the message when it is aborted. */
  signal: AbortSignal;
  /** Resolves when the next bytes of a large message may be read. */
  turn(): Promise<void>;
};

/** RFC 5321 §4.5.3.1.4 requires 512 octets, and extensions add some. Real clients send less than this. */
const maxCommandBytes = 2048;
/** The beginning of each message is read as it arrives, the rest in turns. */
const smallBytes = 32 * 1024;

const LF = 0x0a;
const CR = 0x0d;

export type ServerInput = {
  /** The whole line has to arrive within `waitMs`. */
  command(options: { waitMs: number; signal: AbortSignal }): Promise<CommandRead>;
  /** `reader` decides where the data ends. */
  data(options: DataOptions, reader: DataReader): Promise<DataRead>;
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
    async data(options, reader) {
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

/** `verb` is in upper case, and empty when the line does not begin with a word. */
export type SmtpCommand = { verb: string; rest: string };

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Splits a command line into verb and rest; undefined when it is not UTF-8, the only charset that RFC 6531 §3.3 allows. */
export function readCommand(line: Buffer): SmtpCommand | undefined {
  let text: string;
  try {
    text = decoder.decode(line);
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
