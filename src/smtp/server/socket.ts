/** Helpers for a client's socket: TLS handshake, back-pressure, a clean close, replies to line faults. Used by session.ts. */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { LineFault } from "./data.ts";

export function faultReply(fault: LineFault): string {
  if (fault === "line too long") return "500 5.5.6 line too long";
  if (fault === "NUL") return "521 5.5.2 NUL in a command";
  return `521 5.5.2 ${fault}: every line must end with CRLF`;
}

export type ReplyWriter = {
  /** Sends the text before the next event, together with the other replies to commands that arrived at once. */
  write(text: string): void;
  /** Sends what is left now. */
  flush(): void;
};

/** More waiting text than this is sent at once, so that the socket notices a client that reads nothing. */
const maxWaitingText = 4096;

/** `socket` is read for each reply: TLS replaces it. */
export function createReplyWriter(socket: () => Socket): ReplyWriter {
  let waiting = "";
  const flush = () => {
    const text = waiting;
    waiting = "";
    // Replies are ASCII.
    if (text !== "" && socket().writable) socket().write(text, "latin1");
  };
  return {
    write(text) {
      if (waiting === "") process.nextTick(flush);
      waiting += text;
      if (waiting.length > maxWaitingText) flush();
    },
    flush,
  };
}

/** RFC 5321 §4.5.3.1.5 allows 512 octets for a line of a reply, with its code and line end. */
const maxReplyText = 480;

/** The lines of a reply such as `550 5.7.1 long text`. Each line has the code and the enhanced status code (RFC 2034 §4). */
export function replyLines(reply: string): string {
  const oneLine = reply.replace(/[\r\n]+/g, " ").replace(/[^\x20-\x7e]/g, "?");
  const [, code = "", status = "", text = ""] = /^(\d{3}) (\d\.\d{1,3}\.\d{1,3} )?(.*)$/.exec(oneLine) ?? [];
  if (text.length <= maxReplyText) return `${oneLine}\r\n`;
  const lines: string[] = [];
  for (let rest = text; rest !== ""; ) {
    const space = rest.length <= maxReplyText ? rest.length : rest.lastIndexOf(" ", maxReplyText);
    const end = space > 0 ? space : maxReplyText;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return lines.map((line, i) => `${code}${i < lines.length - 1 ? "-" : " "}${status}${line}\r\n`).join("");
}

export async function handshake(socket: TLSSocket, waitMs: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const done = (ok: boolean) => {
      clearTimeout(timer);
      resolve(ok);
    };
    const timer = setTimeout(() => done(false), waitMs);
    socket.once("secure", () => done(true));
    for (const name of ["error", "close", "end"]) socket.once(name, () => done(false));
    socket.on("error", () => {});
  });
}

/** Waits until the client has read the replies; false when it does not within `waitMs`. */
export async function drained(socket: Socket, waitMs: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const done = (ok: boolean) => {
      clearTimeout(timer);
      resolve(ok);
    };
    const timer = setTimeout(() => done(false), waitMs);
    socket.once("drain", () => done(true));
    socket.once("close", () => done(false));
  });
}

/** Closes the socket so that the last reply reaches a client that is still sending; after 2 s it is destroyed. */
export async function finishSocket(socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, 2000);
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    // Closing with unread bytes sends a TCP reset, which would discard the reply, so read and drop them.
    socket.resume();
    socket.end();
  });
  socket.destroy();
}
