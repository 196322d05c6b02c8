/** One question over UDP: a socket of its own with a fresh source port, and only an answer that fits is taken. */
import { createSocket } from "node:dgram";
import { isIP } from "node:net";
import { setDeadline } from "../ops/deadline.ts";
import type { ServerAddress } from "./servers.ts";

export type Exchanged<T> = { kind: "reply"; reply: T } | { kind: "timeout" } | { kind: "unreachable" };

/**
 * `accept` returns undefined for a datagram that is not the answer: it is passed over and the wait goes on, so that
 * a forged one only costs its sender a packet.
 */
export function exchangeUdp<T>(input: {
  server: ServerAddress;
  query: Buffer;
  accept: (reply: Buffer) => T | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<Exchanged<T>> {
  const { server, query, accept, timeoutMs, signal } = input;
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "timeout" });
    // RFC 5452 §9.2: the kernel binds an unpredictable port for each question.
    const socket = createSocket({ type: isIP(server.host) === 6 ? "udp6" : "udp4" });
    const finish = (result: Exchanged<T>): void => {
      deadline.clear();
      signal.removeEventListener("abort", onAbort);
      socket.removeAllListeners("message");
      socket.close();
      resolve(result);
    };
    let done = false;
    const once = (result: Exchanged<T>): void => {
      if (done) return;
      done = true;
      finish(result);
    };
    const onAbort = (): void => once({ kind: "timeout" });
    const deadline = setDeadline(timeoutMs, () => once({ kind: "timeout" }));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", () => once({ kind: "unreachable" }));
    // RFC 5452 §9.1: connected, the socket hears the asked address and port only, and learns of a closed port at once.
    const onConnect = (failed?: Error): void => {
      if (done) return;
      // On a machine without a route, Node calls back with the error and emits no event.
      if (failed) return once({ kind: "unreachable" });
      socket.on("message", (reply) => {
        const taken = accept(reply);
        if (taken !== undefined) once({ kind: "reply", reply: taken });
      });
      socket.send(query, (error) => {
        if (error) once({ kind: "unreachable" });
      });
    };
    socket.connect(server.port, server.host, onConnect);
  });
}
