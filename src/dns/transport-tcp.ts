/** Sends one query over TCP, for answers that do not fit a datagram. Also holds the length framing that client and server share. */
import { connect } from "node:net";
import { setDeadline } from "../ops/deadline.ts";
import { largestMessage } from "./message.ts";
import type { ServerAddress } from "./servers.ts";
import type { QueryResult } from "./transport-udp.ts";

export function exchangeTcp<T>(input: {
  server: ServerAddress;
  query: Buffer;
  accept: (reply: Buffer) => T | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<QueryResult<T>> {
  const { server, query, accept, timeoutMs, signal } = input;
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: "timeout" });
    const socket = connect({ host: server.host, port: server.port, noDelay: true });
    const reader = createFrameReader(largestMessage);
    const finish = (result: QueryResult<T>): void => {
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
        const reply = accept(message);
        // One query gets one answer: do not wait for another one on this connection.
        return finish(reply === undefined ? { kind: "unreachable" } : { kind: "reply", reply });
      }
    });
    socket.on("error", () => finish({ kind: "unreachable" }));
    socket.on("close", () => finish({ kind: "unreachable" }));
  });
}

/** RFC 1035 §4.2.2: a two-byte length precedes each message. */
export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(message.length + 2);
  framed.writeUInt16BE(message.length, 0);
  message.copy(framed, 2);
  return framed;
}

/** `push` returns the messages that the chunk completes, or undefined if a message is longer than `maxBytes`. */
export function createFrameReader(maxBytes: number): { push(chunk: Buffer): Buffer[] | undefined } {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let neededBytes = 2;
  return {
    push(chunk) {
      pending.push(chunk);
      pendingBytes += chunk.length;
      const messages: Buffer[] = [];
      // Chunks are joined only when a message is complete. Otherwise a peer that sends single bytes would cause quadratic copying.
      if (pendingBytes < neededBytes) return messages;
      let bytes = pending.length === 1 ? chunk : Buffer.concat(pending);
      for (;;) {
        const length = bytes.length < 2 ? 0 : bytes.readUInt16BE(0);
        if (length > maxBytes) return undefined;
        neededBytes = length + 2;
        if (bytes.length < neededBytes) break;
        messages.push(bytes.subarray(2, length + 2));
        bytes = bytes.subarray(length + 2);
      }
      pending = bytes.length > 0 ? [bytes] : [];
      pendingBytes = bytes.length;
      return messages;
    },
  };
}
