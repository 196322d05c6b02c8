/** One question over TCP, for answers that do not fit a datagram; also the length framing that client and server share. */
import { connect } from "node:net";
import { setDeadline } from "../ops/deadline.ts";
import { largestMessage } from "./message.ts";
import type { ServerAddress } from "./servers.ts";
import type { Exchanged } from "./transport-udp.ts";

export function exchangeTcp<T>(input: {
  server: ServerAddress;
  query: Buffer;
  accept: (reply: Buffer) => T | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<Exchanged<T>> {
  const { server, query, accept, timeoutMs, signal } = input;
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "timeout" });
    const socket = connect({ host: server.host, port: server.port, noDelay: true });
    const reader = createFrameReader(largestMessage);
    const finish = (result: Exchanged<T>): void => {
      deadline.clear();
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      resolve(result);
    };
    const onAbort = (): void => finish({ kind: "timeout" });
    const deadline = setDeadline(timeoutMs, onAbort);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("connect", () => socket.write(frame(query)));
    socket.on("data", (chunk) => {
      for (const message of reader.push(chunk) ?? []) {
        const taken = accept(message);
        // One question was asked: whatever else the peer says here is not worth waiting for.
        return finish(taken === undefined ? { kind: "unreachable" } : { kind: "reply", reply: taken });
      }
    });
    socket.on("error", () => finish({ kind: "unreachable" }));
    socket.on("close", () => finish({ kind: "unreachable" }));
  });
}

/** RFC 1035 §4.2.2: two bytes of length before each message. */
export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(message.length + 2);
  framed.writeUInt16BE(message.length, 0);
  message.copy(framed, 2);
  return framed;
}

/** `push` gives the messages that became complete, or undefined once one is announced with more than `maxBytes`. */
export function createFrameReader(maxBytes: number): { push(chunk: Buffer): Buffer[] | undefined } {
  let pending: Buffer[] = [];
  let held = 0;
  let wanted = 2;
  return {
    push(chunk) {
      pending.push(chunk);
      held += chunk.length;
      const messages: Buffer[] = [];
      // Joined only when a message is complete, so that a peer sending byte by byte costs no quadratic copying.
      if (held < wanted) return messages;
      let bytes = pending.length === 1 ? chunk : Buffer.concat(pending);
      for (;;) {
        const length = bytes.length < 2 ? 0 : bytes.readUInt16BE(0);
        if (length > maxBytes) return undefined;
        wanted = length + 2;
        if (bytes.length < wanted) break;
        messages.push(bytes.subarray(2, length + 2));
        bytes = bytes.subarray(length + 2);
      }
      pending = bytes.length > 0 ? [bytes] : [];
      held = bytes.length;
      return messages;
    },
  };
}
