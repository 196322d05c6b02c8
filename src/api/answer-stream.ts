/** Writes a stream to its reader no faster than it is read, and ends one that nobody reads: a peer that holds its connection open and
 * takes nothing would keep its buffers for ever. Called by dispatch. */
import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { Problem } from "../rules/problem.ts";
import type { Response } from "./http.ts";

export type StreamWriter = {
  /** Fires with the reason when the reader is too slow: the stream is then to end with it. */
  tooSlow: AbortSignal;
  /** `beforeEnd` is awaited when all is written. */
  write(answer: UniversalServerResponse, beforeEnd: () => Promise<void>): Promise<void>;
};

export function createStreamWriter(either: Response, stallMs: number): StreamWriter {
  // Both kinds of answer take the same calls, but their types share no signature.
  const response = either as ServerResponse;
  const tooSlow = new AbortController();
  let closed = false;
  response.once("close", () => {
    closed = true;
  });
  return {
    tooSlow: tooSlow.signal,
    async write(answer, beforeEnd) {
      const head = { ...toNode(answer.header), ...unbuffered };
      // Leaving this loop early ends the stream at its source.
      for await (const chunk of answer.body ?? []) {
        if (closed) return;
        if (!response.headersSent) response.writeHead(answer.status, head);
        const hasRoom = response.write(chunk);
        if (hasRoom || tooSlow.signal.aborted) continue;
        const fate = await room(response, stallMs);
        if (fate === "gone") return;
        // What comes next is the stream's own way of saying so; it fits into the buffer, and a reader that goes on reading sees it.
        if (fate === "stalled") tooSlow.abort(stalled(stallMs));
      }
      if (!response.headersSent) response.writeHead(answer.status, head);
      if (answer.trailer) response.addTrailers(toNode(answer.trailer));
      await beforeEnd();
      response.end();
      if (!closed) dropUnlessTaken(either);
    },
  };
}

/** Said to proxies of the nginx kind, which would else collect a stream before they hand it on. */
const unbuffered = { "x-accel-buffering": "no" };

function toNode(headers: Headers | undefined): Record<string, string> {
  return Object.fromEntries(headers ?? []);
}

/** Waits for the peer to take what was written. */
function room(response: ServerResponse, stallMs: number): Promise<"free" | "gone" | "stalled"> {
  return new Promise((resolve) => {
    const done = (fate: "free" | "gone" | "stalled") => () => {
      clearTimeout(timer);
      response.off("drain", drained);
      response.off("close", closed);
      resolve(fate);
    };
    const drained = done("free");
    const closed = done("gone");
    const timer = setTimeout(done("stalled"), stallMs);
    response.once("drain", drained);
    response.once("close", closed);
  });
}

function stalled(stallMs: number): Problem {
  return new Problem(
    "resource_exhausted",
    `Nothing was read from this stream for ${stallMs / 1000} s. Resume from the last cursor; nothing is lost.`,
  );
}

/** A reader that was only slow sees how its stream ended, if it takes the rest within this time. */
const endTakenMs = 30_000;

/** An answer whose peer does not take its end either is dropped. gRPC reads this code of HTTP/2 as resource_exhausted. */
function dropUnlessTaken(response: Response): void {
  const timer = setTimeout(() => {
    if ("stream" in response) response.stream?.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else response.destroy();
  }, endTakenMs).unref();
  response.once("close", () => clearTimeout(timer));
}
