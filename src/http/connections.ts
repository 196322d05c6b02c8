/** The connections of the API port: which ones are idle, and what a client gets whose address has used up its share. Called by server.ts. */
import { constants } from "node:http2";
import type { Socket } from "node:net";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorToJson } from "@connectrpc/connect/protocol-connect";
import { RetryInfoSchema } from "../gen/google/rpc/error_details_pb.ts";
import { openFilesLimit } from "../ops/process.ts";
import { createConnectionShares } from "../shares/connections.ts";

/** The use of one connection: it is idle before its first complete header and between two requests. */
export type ConnectionUse = { begin(): void; end(): void };

export type PortConnections = {
  /** Undefined when the client's address has used up its share. */
  admit(socket: Socket): ConnectionUse | undefined;
  /** The use of an admitted connection. */
  useOf(socket: object): ConnectionUse | undefined;
  count(): number;
};

export type PortLimits = {
  connections: number;
  /** An address may hold this many times the number of free connections. */
  shareFactor: number;
  /** Peers that forward the requests of many clients. The addresses of those clients are judged in forwarded.ts. */
  isTrustedProxy(address: string): boolean;
};

export const maxConnections = 10_000;

/** Half of the open files that the system allows: the other half is for delivery, inbound mail, webhooks and the database. */
export function allowedConnections(): number {
  return Math.min(maxConnections, Math.floor((openFilesLimit() ?? Number.POSITIVE_INFINITY) / 2));
}

export function createPortConnections({ connections, shareFactor, isTrustedProxy }: PortLimits): PortConnections {
  // Without a smaller cap: a proxy that the operator has not declared has one address for all its clients.
  const limits = { total: connections, perAddress: connections, factor: shareFactor };
  const shares = createConnectionShares({ ...limits, exempt: isTrustedProxy, exemptGiveWay: true });
  const uses = new WeakMap<object, ConnectionUse>();
  return {
    admit(socket) {
      const use = createUse();
      const giveWay = () => void socket.destroy();
      const release = shares.admit(socket.remoteAddress ?? "", { idleMs: use.idleMs, giveWay });
      if (!release) return undefined;
      socket.once("close", release);
      uses.set(socket, use);
      return use;
    },
    useOf: (socket) => uses.get(socket),
    count: shares.count,
  };
}

function createUse() {
  let requests = 0;
  let idleSinceMs = performance.now();
  return {
    begin() {
      requests += 1;
    },
    end() {
      requests -= 1;
      idleSinceMs = performance.now();
    },
    idleMs: () => (requests > 0 ? undefined : performance.now() - idleSinceMs),
  };
}

/** How many refused connections get an answer at the same time. Further ones are closed without one. */
export const maxRefusals = 64;
const retryAfterSeconds = 5;

/** What a client with too many connections or requests gets, in the form of every error of the API. */
export function tooManyOpen(what: "connections" | "requests"): { retryAfterSeconds: string; body: string } {
  const error = new ConnectError(
    `Your address has too many ${what} open, and the rest are reserved for other clients. Reuse connections, and retry in ${retryAfterSeconds} seconds.`,
    Code.ResourceExhausted,
  );
  error.details.push({ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(1000 * retryAfterSeconds) } });
  return { retryAfterSeconds: String(retryAfterSeconds), body: JSON.stringify(errorToJson(error, undefined)) };
}

/** A whole HTTP/1.1 response to a connection over the share. */
export function tooManyConnections(): string {
  const { retryAfterSeconds, body } = tooManyOpen("connections");
  const fields = `Retry-After: ${retryAfterSeconds}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
  return `HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\n${fields}\r\n\r\n${body}`;
}

const settingsFrame = [0, 0, 0, 4, 0, 0, 0, 0, 0];
const goawayHead = [0, 0, 8, 7, 0, 0, 0, 0, 0];
const lastStream = [0, 0, 0, 0];

/** RFC 9113 §3.4 and §6.8: an empty SETTINGS frame, then GOAWAY without a processed stream. */
export const http2Refusal = Buffer.from([
  ...[...settingsFrame, ...goawayHead, ...lastStream],
  ...[0, 0, 0, constants.NGHTTP2_ENHANCE_YOUR_CALM],
]);
