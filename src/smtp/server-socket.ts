/** What our server does with a client's socket apart from talking: TLS, waiting for it to read, and a good end. Called by server-session.ts. */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { LineFault } from "./server-input.ts";

export function faultReply(fault: LineFault): string {
  if (fault === "line too long") return "500 5.5.6 the line is too long";
  if (fault === "NUL") return "521 5.5.2 a command holds NUL";
  return `521 5.5.2 ${fault}: lines end with CRLF and hold neither alone`;
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

/** Lets the last reply reach a client that is still sending, and then no longer waits for it. */
export async function finish(socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, 2000);
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    // Unread bytes at the time of closing would turn the end into a reset, which takes the reply with it.
    socket.resume();
    socket.end();
  });
  socket.destroy();
}
