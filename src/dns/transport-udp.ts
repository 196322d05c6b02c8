/** Sends one query over UDP, from its own socket with a random source port, and waits for a matching answer. */
import { createSocket } from "node:dgram";
import { isIP } from "node:net";
import { setDeadline } from "../ops/deadline.ts";
import type { ServerAddress } from "./servers.ts";

export type QueryResult<T> = { kind: "reply"; reply: T } | { kind: "timeout" } | { kind: "unreachable" };

/** `accept` returns undefined for a datagram that is not the answer. It is ignored, so that a forged one does not end the wait. */
export function exchangeUdp<T>(input: {
  server: ServerAddress;
  query: Buffer;
  accept: (reply: Buffer) => T | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<QueryResult<T>> {
  const { server, query, accept, timeoutMs, signal } = input;
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "timeout" });
    // RFC 5452 §9.2: the kernel binds an unpredictable port for each query.
    const socket = createSocket({ type: isIP(server.host) === 6 ? "udp6" : "udp4" });
    const finish = (result: QueryResult<T>): void => {
      deadline.clear();
      signal.removeEventListener("abort", onAbort);
      socket.removeAllListeners("message");
      socket.close();
      resolve(result);
    };
    let done = false;
    const once = (result: QueryResult<T>): void => {
      if (done) return;
      done = true;
      finish(result);
    };
    const onAbort = (): void => once({ kind: "timeout" });
    const deadline = setDeadline(timeoutMs, () => once({ kind: "timeout" }));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", () => once({ kind: "unreachable" }));
    // RFC 5452 §9.1: a connected socket receives only from the server's address and port, and reports a closed port at once.
    const onConnect = (failed?: Error): void => {
      if (done) return;
      // On a machine without a route, Node passes the error to this callback and emits no event.
      if (failed) return once({ kind: "unreachable" });
      socket.on("message", (datagram) => {
        const reply = accept(datagram);
        if (reply !== undefined) once({ kind: "reply", reply });
      });
      socket.send(query, (error) => {
        if (error) once({ kind: "unreachable" });
      });
    };
    socket.connect(server.port, server.host, onConnect);
  });
}
