/** Helpers for a client's socket: TLS handshake, back-pressure, a clean close, replies to line faults. Used by session.ts. */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { LineFault } from "./data.ts";

export function faultReply(fault: LineFault): string {
  if (fault === "line too long") return "500 5.5.6 line too long";
  if (fault === "NUL") return "521 5.5.2 NUL in a command";
  return `521 5.5.2 ${fault}: every line must end with CRLF`;
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
