/** One HTTP request with a limit for each of its phases: connecting, the first byte of the answer, silence, and the whole. Connections are
 * kept alive. Called by s3.ts. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { StoreError } from "./store-error.ts";

export type TransportLimits = {
  connectMs: number;
  /** From the end of the request to the header of its answer. */
  firstByteMs: number;
  /** Without any progress in either direction. */
  idleMs: number;
  /** For a request without content. */
  totalMs: number;
  /** Content may take the time that this rate needs, on top of `totalMs`. */
  bytesPerSecond: number;
  connections: number;
};

export const defaultTransportLimits: TransportLimits = {
  connectMs: 5_000,
  firstByteMs: 10_000,
  idleMs: 15_000,
  totalMs: 30_000,
  bytesPerSecond: 256 * 1024,
  connections: 64,
};

export type HttpRequest = {
  method: string;
  url: URL;
  headers: Record<string, string>;
  /** Chunks whose lengths add up to `bytes`. */
  body?: { bytes: number; chunks: Iterable<Buffer> | AsyncIterable<Buffer> };
  /** The most that the answer may have. */
  maxAnswerBytes: number;
  signal?: AbortSignal;
};
export type HttpAnswer = { status: number; headers: IncomingMessage["headers"]; body: Buffer };

export function createTransport(limits: TransportLimits) {
  const options = { keepAlive: true, maxSockets: limits.connections, maxFreeSockets: 16, timeout: 60_000 };
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };

  async function send(wanted: HttpRequest): Promise<HttpAnswer> {
    const { signal } = wanted;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const isTls = wanted.url.protocol === "https:";
    const request = (isTls ? httpsRequest : httpRequest)(wanted.url, {
      method: wanted.method,
      headers: wanted.headers,
      agent: isTls ? agents.https : agents.http,
    });
    const fail = (error: unknown) => {
      reject(signal?.aborted ? signal.reason : error);
      request.destroy();
    };
    const clock = createPhaseClock((phase) =>
      fail(
        new StoreError(phase === "connecting" ? "unreachable" : "timeout", `the object store was too slow: ${phase}`),
      ),
    );
    const bytes = (wanted.body?.bytes ?? 0) + wanted.maxAnswerBytes;
    const total = setTimeout(
      clock.expire,
      limits.totalMs + (bytes / limits.bytesPerSecond) * 1000,
      "the whole request",
    );
    const cancel = () => fail(signal!.reason);
    signal?.addEventListener("abort", cancel, { once: true });
    clock.enter("connecting", limits.connectMs);
    request.on("socket", (socket) => {
      const connected = () => clock.enter("sending", limits.idleMs);
      if (!socket.connecting) connected();
      else socket.once(isTls ? "secureConnect" : "connect", connected);
    });
    request.on("error", (error) => fail(asStoreError(error)));
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let length = 0;
      clock.enter("receiving", limits.idleMs);
      response.on("data", (chunk: Buffer) => {
        clock.enter("receiving", limits.idleMs);
        length += chunk.length;
        if (length > wanted.maxAnswerBytes)
          fail(new StoreError("rejected", "the answer of the object store is too long"));
        else chunks.push(chunk);
      });
      response.on("error", (error) => fail(asStoreError(error)));
      response.on("end", () => {
        if (!response.complete) return fail(new StoreError("unreachable", "the object store ended its answer early"));
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks, length) });
        // An answer that came before the whole request: the rest of the request is of no use.
        if (!request.writableFinished) request.destroy();
      });
    });
    if (wanted.body) void write(wanted.body.chunks).catch(fail);
    else request.end(() => clock.enter("waiting for the answer", limits.firstByteMs));
    try {
      return await promise;
    } finally {
      clock.stop();
      clearTimeout(total);
      signal?.removeEventListener("abort", cancel);
    }

    async function write(chunks: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
      let written = 0;
      for await (const chunk of chunks) {
        if (request.destroyed || request.errored) return;
        written += chunk.length;
        if (written > wanted.body!.bytes) break;
        if (!request.write(chunk)) await drained();
        clock.progress("sending", limits.idleMs);
      }
      // The store must not get an object that looks whole.
      if (written !== wanted.body!.bytes) throw new Error(`content of ${wanted.body!.bytes} octets has another length`);
      request.end(() => clock.progress("waiting for the answer", limits.firstByteMs));
    }

    /** Also resolves when the request has ended, because then `drain` never comes. */
    async function drained(): Promise<void> {
      const { promise: ready, resolve: go } = Promise.withResolvers<void>();
      request.once("drain", go).once("close", go);
      await ready;
      request.off("drain", go).off("close", go);
    }
  }

  return {
    send,
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/** Calls `late` once when a phase lasts longer than its limit. */
function createPhaseClock(late: (phase: string) => void) {
  let timer: NodeJS.Timeout | undefined;
  let current = "";
  let ended = false;
  const expire = (phase: string) => {
    if (ended) return;
    ended = true;
    late(phase);
  };
  const enter = (phase: string, ms: number) => {
    if (ended) return;
    current = phase;
    clearTimeout(timer);
    timer = setTimeout(expire, ms, phase);
  };
  return {
    enter,
    /** Does not go back from the answer to the request, nor forward before the connection is open. */
    progress(phase: string, ms: number) {
      if (current !== "receiving" && current !== "connecting") enter(phase, ms);
    },
    expire,
    stop() {
      ended = true;
      clearTimeout(timer);
    },
  };
}

function asStoreError(error: Error): Error {
  if (error instanceof StoreError) return error;
  const code = (error as { code?: string }).code ?? "";
  return new StoreError("unreachable", `the connection to the object store failed: ${code || error.message}`, error);
}
