/** The one HTTP port: HTTP/1.1 and h2c on the same socket, broken requests turned away before anything else sees them. */
import { createServer as createHttp1, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  createServer as createHttp2,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { type AddressInfo, createServer as createNet, type Socket } from "node:net";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;
export type Listener = (request: Request, response: Response) => void;

export type HttpOptions = { host: string; port: number; log: Log; metrics: Metrics; handle: Listener };

/** RFC 9113 §3.4: what a client that speaks HTTP/2 says first. */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

const limits = {
  /** Until a connection has said which protocol it speaks, and until its header is complete. */
  headMs: 10_000,
  /** A whole request, body included: 64 MiB at 5 Mbit/s. */
  requestMs: 120_000,
  keepAliveMs: 65_000,
  headerBytes: 16 * 1024,
  headers: 100,
  connections: 10_000,
  streamsPerConnection: 250,
};

export function createHttp(options: HttpOptions) {
  const http1 = createHttp1({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
  });
  http1.maxHeadersCount = limits.headers;
  const http2 = createHttp2({
    settings: {
      maxConcurrentStreams: limits.streamsPerConnection,
      maxHeaderListSize: limits.headerBytes,
      enableConnectProtocol: false,
    },
  });
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();

  http1.on("request", options.handle);
  http2.on("request", options.handle);
  turnAwayBroken(http1, http2, options.metrics);
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });

  const front = createNet({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A peer may reset at any moment, also before a protocol has taken the socket over.
    socket.on("error", () => socket.destroy());
    tellProtocol(socket, { http1, http2, metrics: options.metrics });
  });
  front.maxConnections = limits.connections;

  return {
    async start(): Promise<AddressInfo> {
      await new Promise<void>((resolve, reject) => {
        front.once("error", reject);
        front.listen(options.port, options.host, resolve);
      });
      front.on("error", (error) => options.log.error({ err: error }, "HTTP listener failed"));
      return front.address() as AddressInfo;
    },
    /** Takes no new connections, lets requests in hand finish, then closes what is left. */
    async stop(limitMs: number): Promise<void> {
      const closed = new Promise<void>((resolve) => front.close(() => resolve()));
      http1.closeIdleConnections();
      for (const session of sessions) session.close();
      const idle = setInterval(() => http1.closeIdleConnections(), 50);
      const force = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, limitMs);
      await closed;
      clearInterval(idle);
      clearTimeout(force);
    },
  };
}

/** A plain Node http2 server speaks no HTTP/1.1: the first bytes decide which server gets the connection. */
function tellProtocol(socket: Socket, servers: { http1: Server; http2: Http2Server; metrics: Metrics }): void {
  let seen: Buffer = Buffer.alloc(0);
  const tooSlow = setTimeout(() => {
    servers.metrics.refusedConnections.inc({ reason: "silent" });
    socket.destroy();
  }, limits.headMs);
  const look = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    const couldBe2 = seen.subarray(0, length).equals(preface.subarray(0, length));
    if (couldBe2 && seen.length < preface.length) return;
    clearTimeout(tooSlow);
    socket.off("readable", look);
    socket.unshift(seen);
    (couldBe2 ? servers.http2 : servers.http1).emit("connection", socket);
  };
  socket.on("readable", look);
  socket.once("close", () => clearTimeout(tooSlow));
}

function turnAwayBroken(http1: Server, http2: Http2Server, metrics: Metrics): void {
  http1.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    metrics.refusedConnections.inc({ reason: error.code ?? "unknown" });
    if (!socket.writable || error.code === "ECONNRESET") return socket.destroy();
    const status = statusOf(error.code);
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  });
  http1.on("upgrade", (_request, socket) =>
    socket.end("HTTP/1.1 501 Not Implemented\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
  );
  http1.on("connect", (_request, socket) =>
    socket.end("HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
  );
  http2.on("sessionError", (_error, session) => {
    metrics.refusedConnections.inc({ reason: "http2" });
    session.destroy();
  });
  http2.on("stream", (stream) => stream.on("error", () => stream.destroy()));
  http2.setTimeout(limits.requestMs);
  http2.on("timeout", () => {});
}

function statusOf(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return "431 Request Header Fields Too Large";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "408 Request Timeout";
  return "400 Bad Request";
}
