/** Writes a large answer with backpressure, and disconnects a client that does not read it: the answer is in memory until the client has
 * taken it. Called by unary-json.ts and dispatch.ts; streams have answer-stream.ts. */
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Response } from "./server.ts";

const limits = {
  /** A client that takes nothing for this long is disconnected. */
  stallMs: 30_000,
  /** The average over all waits for the client, judged once they have lasted `stallMs`. */
  minBytesPerSecond: 64 * 1024,
};

export type ReadLimits = typeof limits;

const sliceBytes = 256 * 1024;

/** Writes the body after the header has been set, and ends the response. Resolves early when the client is gone or too slow. */
export async function writeBody(
  either: Response,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: Partial<ReadLimits> & { beforeEnd?: () => void } = {},
): Promise<void> {
  // HTTP/1.1 and HTTP/2 responses have the same methods, but their types share no signature.
  const response = either as ServerResponse;
  let closed = "stream" in either ? either.stream === undefined || either.stream.destroyed : either.destroyed;
  response.once("close", () => {
    closed = true;
  });
  const pace = createPace({ ...limits, ...options });
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      if (closed) return;
      const slice = chunk.subarray(at, at + sliceBytes);
      if (response.write(slice)) pace.took(slice.length);
      else if (!(await pace.taken(response, "drain", slice.length))) return drop(either);
    }
  }
  if (closed) return;
  options.beforeEnd?.();
  response.end();
  if (!closed && !response.writableFinished && !(await pace.taken(response, "finish", 0))) drop(either);
}

/** Writes an answer of Connect that is not a stream. */
export async function writeAnswer(either: Response, answer: UniversalServerResponse): Promise<void> {
  const response = either as ServerResponse;
  const writeHead = () => {
    if (!response.headersSent) response.writeHead(answer.status, Object.fromEntries(answer.header ?? []));
  };
  // The header is complete only when the first chunk is there.
  async function* withHead(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      writeHead();
      yield chunk;
    }
  }
  const beforeEnd = () => {
    writeHead();
    if (answer.trailer) response.addTrailers(Object.fromEntries(answer.trailer));
  };
  await writeBody(either, answer.body ? withHead(answer.body) : [], { beforeEnd });
}

function createPace({ stallMs, minBytesPerSecond }: ReadLimits) {
  let waitedMs = 0;
  let bytes = 0;
  return {
    took(count: number): void {
      bytes += count;
    },
    /** Waits until the client has taken what was written. False when it is too slow. A closed response counts as taken. */
    async taken(response: ServerResponse, event: "drain" | "finish", count: number): Promise<boolean> {
      const since = performance.now();
      const inTime = await nextEvent(response, event, stallMs);
      waitedMs += performance.now() - since;
      bytes += count;
      return inTime && (waitedMs < stallMs || bytes >= (waitedMs / 1000) * minBytesPerSecond);
    },
  };
}

function nextEvent(response: ServerResponse, event: "drain" | "finish", withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const done = (inTime: boolean) => () => {
      clearTimeout(timer);
      response.off(event, onTime).off("close", onTime);
      resolve(inTime);
    };
    const onTime = done(true);
    const timer = setTimeout(done(false), withinMs);
    response.once(event, onTime).once("close", onTime);
  });
}

/** gRPC maps this HTTP/2 code to resource_exhausted. */
function drop(response: Response): void {
  if ("stream" in response) response.stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  else response.destroy();
}
