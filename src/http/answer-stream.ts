/** Writes a stream with backpressure, and ends it when the client stops reading: a client that keeps its connection open without reading
 * would otherwise hold its buffers forever. Called by dispatch.ts. */
import type { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { Problem } from "../ops/problem.ts";
import type { Response } from "./server.ts";
import { formatOf, type StreamFormat, type StreamOutput } from "./stream-output.ts";

export type StreamWriter = {
  /** Aborts with the error that the stream must end with when the client reads too slowly. */
  tooSlow: AbortSignal;
  /** Takes bytes that the handler has encoded itself. */
  output: StreamOutput;
  /** Awaits `beforeEnd` after the last chunk, before the response ends. */
  write(answer: UniversalServerResponse, beforeEnd: () => Promise<void>): Promise<void>;
};

export function createStreamWriter(either: Response, stallMs: number): StreamWriter {
  // HTTP/1.1 and HTTP/2 responses have the same methods, but their types share no signature.
  const response = either as ServerResponse;
  const tooSlow = new AbortController();
  let closed = false;
  response.once("close", () => {
    closed = true;
  });
  let format: StreamFormat;
  /** The bytes to send in place of the next message. */
  let instead: { bytes: Uint8Array; taken(): void } | undefined;
  /** Set while the client has not taken all that was pushed. */
  let draining: Promise<unknown> | undefined;

  /** Waits for the client. False: it is gone. */
  async function untilDrained(from: EventEmitter): Promise<boolean> {
    const state = await waitForDrain(from, response, stallMs);
    // The stream then ends with an error in its own format. It fits into the buffer, and a client that resumes reading sees it.
    if (state === "stalled") tooSlow.abort(stalled(stallMs));
    return state !== "closed";
  }

  /** Writes slice by slice, so that a client that reads slowly but steadily does not count as stalled. False: the client is gone. */
  async function send(bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length; at += sliceBytes) {
      const buffered = response.write(bytes.subarray(at, at + sliceBytes));
      // A message must not be cut, so the rest of a stalled client's bytes goes into the buffer at once.
      if (buffered || tooSlow.signal.aborted) continue;
      if (!(await untilDrained(response))) return false;
    }
    return true;
  }

  return {
    tooSlow: tooSlow.signal,
    output: {
      format: () => format,
      replaceNext(bytes, taken) {
        instead = { bytes, taken };
      },
      push(shared) {
        if (closed) return false;
        const { socket } = response;
        // A chunk that all streams share saves most of the work of response.write. Bytes that the response keeps itself go first.
        const direct = socket && !("stream" in either) && response.chunkedEncoding && response.writableLength === 0;
        if (direct ? socket.write(shared.chunk()) : response.write(shared.bytes)) return true;
        // Before anything else runs: a drain event without a listener would make the client look stalled.
        draining = untilDrained(direct ? socket : response);
        return false;
      },
      async drained() {
        await draining;
        draining = undefined;
      },
    },
    async write(answer, beforeEnd) {
      const head = { ...toNode(answer.header), ...unbuffered };
      format = formatOf(answer);
      try {
        // Leaving this loop early ends the handler's generator.
        for await (const message of answer.body ?? []) {
          if (closed) return;
          if (!response.headersSent) response.writeHead(answer.status, head);
          if (!(await send(instead?.bytes ?? message))) return;
          instead?.taken();
          instead = undefined;
        }
      } finally {
        instead?.taken();
      }
      if (!response.headersSent) response.writeHead(answer.status, head);
      if (answer.trailer) response.addTrailers(toNode(answer.trailer));
      await beforeEnd();
      response.end();
      if (!closed) dropUnlessRead(either);
    },
  };
}

const sliceBytes = 64 * 1024;

/** Without this header, nginx buffers the stream before it passes it on. */
const unbuffered = { "x-accel-buffering": "no" };

function toNode(headers: Headers | undefined): Record<string, string> {
  return Object.fromEntries(headers ?? []);
}

/** Waits until the client has read what was written. */
function waitForDrain(
  from: EventEmitter,
  response: ServerResponse,
  stallMs: number,
): Promise<"drained" | "closed" | "stalled"> {
  return new Promise((resolve) => {
    const done = (state: "drained" | "closed" | "stalled") => () => {
      clearTimeout(timer);
      from.off("drain", onDrain);
      response.off("close", onClose);
      resolve(state);
    };
    const onDrain = done("drained");
    const onClose = done("closed");
    const timer = setTimeout(done("stalled"), stallMs);
    from.once("drain", onDrain);
    response.once("close", onClose);
  });
}

function stalled(stallMs: number): Problem {
  return new Problem(
    "resource_exhausted",
    `The client read nothing from this stream for ${stallMs / 1000} s. Resume from the last cursor; nothing is lost.`,
  );
}

/** A slow client has this long to read the end of its stream. */
const readEndWithinMs = 30_000;

/** Drops a response whose client does not read its end. gRPC maps this HTTP/2 code to resource_exhausted. */
function dropUnlessRead(response: Response): void {
  const timer = setTimeout(() => {
    if ("stream" in response) response.stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else response.destroy();
  }, readEndWithinMs).unref();
  response.once("close", () => clearTimeout(timer));
}
