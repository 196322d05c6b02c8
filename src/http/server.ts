/** The HTTP port: HTTP/1.1 and h2c on one socket. Rejects malformed requests and enforces time limits before dispatch.ts sees a request. */
import { createServer as createHttp1, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  constants,
  createServer as createHttp2,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { HeapRelief } from "../ops/heap-relief.ts";
import type { Log } from "../ops/log.ts";
import type { Metrics } from "../ops/metrics.ts";
import type { SharedListener } from "../shares/spread.ts";
import { createPortConnections, http2Refusal, maxRefusals, tooManyConnections } from "./connections.ts";
import { createUnreadAnswers, type UnreadAnswers } from "./unread-answers.ts";

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;
export type Listener = (request: Request, response: Response) => void;

export type HttpOptions = {
  host: string;
  port: number;
  log: Log;
  metrics: Metrics;
  handle: Listener;
  limits?: Partial<HttpLimits>;
  /** Whether a peer is a proxy of ours, which forwards the requests of many clients. */
  isTrustedProxy?(address: string): boolean;
  /** Collects what a burst of connections leaves in the heap. */
  heap?: HeapRelief;
  /** The port is shared with other processes. */
  shared?: SharedListener;
};

export type HttpLimits = typeof defaultLimits;

const defaultLimits = {
  /** Until the first bytes show the protocol, and until a header is complete. */
  headMs: 10_000,
  /** For a whole request with its body: 64 MiB at 5 Mbit/s. Also the idle timeout of a connection in use. */
  requestMs: 120_000,
  keepAliveMs: 65_000,
  /** For the rest of a complete response of which the client reads nothing. */
  unreadMs: 30_000,
  /** How often Node checks HTTP/1.1 requests against these limits. */
  checkEveryMs: 2_000,
  headerBytes: 16 * 1024,
  headers: 100,
  connections: 10_000,
  /** One address may hold this many times the number of free connections: three quarters if it is the only one. */
  shareFactor: 3,
  streamsPerConnection: 250,
};

/** Measured with 10,050 silent connections: what a closed connection leaves in the heap. */
const connectionGarbageBytes = 16 * 1024;

/** RFC 9113 §3.4: the first bytes of an HTTP/2 client. */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function createHttp(options: HttpOptions) {
  const limits = { ...defaultLimits, ...options.limits };
  const { shared } = options;
  const http1 = createHttp1({
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    noDelay: true,
  });
  // Node has this option of net.Server for HTTP servers only as a property. A connection that moves to another process must not have been read.
  if (shared) Object.assign(http1, { pauseOnConnect: true });
  http1.maxHeadersCount = limits.headers;
  http1.maxConnections = limits.connections + maxRefusals;
  http1.setTimeout(limits.requestMs);
  const http2 = createHttp2({
    settings: {
      maxConcurrentStreams: limits.streamsPerConnection,
      maxHeaderListSize: limits.headerBytes,
      enableConnectProtocol: false,
    },
  });
  http2.setTimeout(limits.requestMs);
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  const undecided = new Set<Socket>();
  const { connections, shareFactor } = limits;
  const port = createPortConnections({
    connections,
    shareFactor,
    isTrustedProxy: options.isTrustedProxy ?? (() => false),
  });
  const refused = new Set<Socket>();
  const answering = new Set<ServerResponse>();
  const unread = createUnreadAnswers({ unreadMs: limits.unreadMs, everyMs: limits.checkEveryMs });
  let stopping = false;
  let emptied: (() => void) | undefined;

  http1.on("request", (request, response) => {
    answering.add(response);
    const use = port.useOf(request.socket);
    use?.begin();
    const unwatch = unread.watch({
      // A pipelined response gets the socket when those before it are sent.
      ended: () => response.writableEnded && response.socket !== null,
      pendingBytes: () => response.socket?.writableLength ?? 0,
      close: () => response.destroy(),
    });
    response.once("close", () => {
      unwatch();
      answering.delete(response);
      use?.end();
    });
    if (stopping) response.shouldKeepAlive = false;
    options.handle(request, response);
  });
  http2.on("request", options.handle);
  /** The socket that becomes a session: a session shows only a proxy of its socket. */
  let becoming: Socket | undefined;
  http2.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    const use = becoming && port.useOf(becoming);
    session.on("stream", (stream) => {
      use?.begin();
      stream.once("close", () => use?.end());
    });
    if (stopping) session.close();
  });
  rejectBrokenHttp1(http1, { metrics: options.metrics, answering });
  rejectBrokenHttp2(http2, { metrics: options.metrics, requestMs: limits.requestMs, unread });

  // The HTTP/1.1 server must be the one that listens: only then does it enforce its time limits and track idle connections.
  const serveHttp1 = http1.listeners("connection")[0] as (this: Server, socket: Socket) => void;
  http1.removeAllListeners("connection");
  http1.on("connection", (socket: Socket) => {
    if (shared === undefined || shared.spread.keeps(socket)) accept(socket);
  });
  shared?.spread.onMoved(accept);

  function accept(socket: Socket): void {
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0) emptied?.();
      options.heap?.note(connectionGarbageBytes);
    });
    // A peer may reset the connection at any time, even before a protocol server has the socket.
    socket.on("error", () => socket.destroy());
    undecided.add(socket);
    const decided = () => undecided.delete(socket);
    if (!port.admit(socket)) return refuseConnection(socket, decided);
    detectProtocol(socket, {
      withinMs: limits.headMs,
      http1: () => serveHttp1.call(http1, socket),
      http2() {
        becoming = socket;
        http2.emit("connection", socket);
        becoming = undefined;
      },
      silent: () => options.metrics.brokenRequests.inc({ reason: "silent" }),
      decided,
    });
  }

  /** Answers a connection over the share in its protocol and closes it. Only so many get an answer, because each one needs a socket. */
  function refuseConnection(socket: Socket, decided: () => void): void {
    options.metrics.brokenRequests.inc({ reason: "connections" });
    if (refused.size >= maxRefusals) return void socket.destroy();
    refused.add(socket);
    socket.once("close", () => refused.delete(socket));
    detectProtocol(socket, {
      withinMs: lingerMs,
      http1: () => endAfter(socket, tooManyConnections()),
      http2: () => endAfter(socket, http2Refusal),
      silent() {},
      decided,
    });
  }

  return {
    async start(): Promise<AddressInfo> {
      await new Promise<void>((resolve, reject) => {
        http1.once("error", reject);
        const { port, host } = options;
        http1.listen(shared === undefined ? { port, host } : { fd: shared.fd }, () => {
          http1.off("error", reject);
          resolve();
        });
      });
      http1.on("error", (error) => options.log.error({ err: error }, "HTTP listener failed"));
      return http1.address() as AddressInfo;
    },
    /** Stops listening, waits for requests in progress, and closes the remaining connections after `limitMs`. Idle connections are served
     * for `lingerMs`: a client may be sending a request on one just now. */
    async stop(limitMs: number, lingerMs = 0): Promise<void> {
      stopping = true;
      for (const response of answering) response.shouldKeepAlive = false;
      const empty = new Promise<void>((resolve) => (emptied = resolve));
      let closing: Promise<void> | undefined;
      const close = () => {
        closing ??= new Promise<void>((resolve) => http1.close(() => resolve()));
      };
      // Closing the server also closes its idle connections.
      if (lingerMs === 0) close();
      else stopListening(http1);
      for (const session of sessions) session.close();
      const closeIdle = () => {
        close();
        for (const socket of undecided) socket.destroy();
        http1.closeIdleConnections();
      };
      let idle: NodeJS.Timeout | undefined;
      const linger = setTimeout(() => {
        closeIdle();
        idle = setInterval(closeIdle, 50);
      }, lingerMs);
      const force = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, limitMs);
      // The server does not count connections that came from other processes.
      if (shared && sockets.size > 0) await empty;
      else await closing;
      clearTimeout(linger);
      clearInterval(idle);
      clearTimeout(force);
      close();
      await closing;
      unread.stop();
    },
    /** Open connections, refused ones excepted. */
    connections: port.count,
  };
}

/** Closes the listening socket only: http.Server.close() closes idle connections too. */
function stopListening(http1: Server): void {
  NetServer.prototype.close.call(http1);
}

type Protocols = { withinMs: number; http1(): void; http2(): void; silent(): void; decided(): void };

/** Node's h2c server does not speak HTTP/1.1, so the first bytes decide which server gets the connection. */
function detectProtocol(socket: Socket, { withinMs, http1, http2, silent, decided }: Protocols): void {
  let seen: Buffer = Buffer.alloc(0);
  const tooSlow = setTimeout(() => {
    silent();
    socket.destroy();
  }, withinMs);
  const onGone = () => {
    clearTimeout(tooSlow);
    decided();
    socket.destroy();
  };
  const onReadable = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    const couldBe2 = seen.subarray(0, length).equals(preface.subarray(0, length));
    if (couldBe2 && seen.length < preface.length) return;
    clearTimeout(tooSlow);
    decided();
    socket.off("readable", onReadable);
    // HTTP/1.1 handles a peer that has closed its sending side. For HTTP/2 that ends the connection.
    if (!couldBe2) socket.off("end", onGone);
    socket.off("close", onGone);
    socket.unshift(seen);
    if (couldBe2) http2();
    else http1();
  };
  socket.on("readable", onReadable);
  // Sockets of an HTTP server stay half open. A peer that ends before its first request is disconnected here.
  socket.on("end", onGone);
  socket.on("close", onGone);
}

function rejectBrokenHttp1(http1: Server, deps: { metrics: Metrics; answering: Set<ServerResponse> }): void {
  http1.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    deps.metrics.brokenRequests.inc({ reason: error.code ?? "unknown" });
    // The client would read an error as part of the response that is being sent.
    const midResponse = [...deps.answering].some((response) => response.socket === socket && response.headersSent);
    if (!socket.writable || midResponse || error.code === "ECONNRESET") return socket.destroy();
    refuse(socket as Socket, statusOf(error.code));
  });
  http1.on("upgrade", (_request, socket) => refuse(socket as Socket, "501 Not Implemented"));
  http1.on("connect", (_request, socket) => refuse(socket as Socket, "405 Method Not Allowed"));
}

function refuse(socket: Socket, status: string): void {
  endAfter(socket, `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** Reads and drops what the peer still sends for `lingerMs`: a reset would make the peer lose the response. */
function endAfter(socket: Socket, answer: string | Buffer): void {
  socket.on("error", () => socket.destroy());
  socket.resume();
  socket.end(answer);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

export const lingerMs = 500;

function rejectBrokenHttp2(
  http2: Http2Server,
  deps: { metrics: Metrics; requestMs: number; unread: UnreadAnswers },
): void {
  http2.on("sessionError", (_error, session) => {
    deps.metrics.brokenRequests.inc({ reason: "http2" });
    session.destroy();
  });
  http2.on("stream", (stream) => {
    stream.on("error", () => stream.destroy());
    const late = setTimeout(() => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM), deps.requestMs);
    stream.once("end", () => clearTimeout(late));
    const unwatch = deps.unread.watch({
      ended: () => stream.writableEnded,
      pendingBytes: () => stream.writableLength,
      close: () => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM),
    });
    stream.once("close", () => {
      clearTimeout(late);
      unwatch();
    });
  });
}

function statusOf(code: string | undefined): string {
  if (code === "HPE_HEADER_OVERFLOW") return "431 Request Header Fields Too Large";
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return "408 Request Timeout";
  return "400 Bad Request";
}
